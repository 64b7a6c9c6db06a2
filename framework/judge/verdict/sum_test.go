package verdict

import "testing"

func TestSum(t *testing.T) {
	for _, test := range []struct {
		outcomes []Outcome
		want     Outcome
	}{
		{nil, Unknown},
		{[]Outcome{Held, Held}, Held},
		{[]Outcome{Held, Unknown}, Unknown},
		{[]Outcome{Unknown, Violated, Held}, Violated},
		{[]Outcome{Held, "splendid"}, Unknown},
		{[]Outcome{"splendid", Violated}, Violated},
	} {
		if got := Sum(test.outcomes...); got != test.want {
			t.Errorf("%v sum up to %s, want %s", test.outcomes, got, test.want)
		}
	}
}
