package invariant

import "testing"

func TestWords(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0 %", 1: "100 %", 1.0 / 3: "33.3 %", 0.0005: "0.05 %", 3e-7: "0.00003 %", 0.99949: "99.9 %", 0.5: "50 %", 0.123456: "12.3 %",
	} {
		if got := percent(share); got != want {
			t.Errorf("%v is %q, want %q", share, got, want)
		}
	}
	for got, want := range map[string]string{
		count(0, "pod"): "0 pods", count(1, "node loss"): "1 node loss", count(2, "node loss"): "2 node losses",
		list([]string{}): "", list([]string{"a"}): "a", list([]string{"a", "b", "c"}): "a, b and c",
		moment(17*1e9 + 499999): "17s", amounts(map[string]int{"b": 1, "a": 2}): "a=2 b=1",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
