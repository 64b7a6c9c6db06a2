package prose

import (
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0 %", 1: "100 %", 1.0 / 3: "33.3 %", 0.0005: "0.05 %", 3e-7: "0.00003 %", 0.99949: "99.9 %", 0.5: "50 %", 0.123456: "12.3 %",
	} {
		if got := Percent(share); got != want {
			t.Errorf("%v is %q, want %q", share, got, want)
		}
	}
	for got, want := range map[string]string{
		Count(0, "pod"): "0 pods", Count(1, "node loss"): "1 node loss", Count(2, "node loss"): "2 node losses",
		List([]string{}): "", List([]string{"a"}): "a", List([]string{"a", "b", "c"}): "a, b and c",
		Moment(17*time.Second + 499999): "17s", Amounts(map[string]int{"b": 1, "a": 2}): "a=2 b=1",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{
		"holdfast run":            "holdfast run",
		"holdfast run chaos/x y":  "holdfast run ...",
		"holdfast-run-chaos/x-yz": "holdfast-run-cha ...",
	} {
		if got := Shorten(text, 16); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
