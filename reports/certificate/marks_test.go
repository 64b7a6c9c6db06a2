package certificate

import "testing"

func TestMarked(t *testing.T) {
	for _, test := range []struct {
		was, is, factor, floor float64
		want                   bool
	}{
		{2, 7.1, 2, 5, true},
		{7.1, 2, 2, 5, true},    // better is a difference, too
		{2, 7, 2, 5, false},     // exactly so much
		{20, 26, 2, 5, false},   // much, and not in proportion
		{0, 5.1, 2, 5, true},    // from nothing
		{0.1, 0.9, 2, 5, false}, // nine times of nearly nothing
		{0, 0, 1, 0, false},
	} {
		if got := Marked(test.was, test.is, test.factor, test.floor); got != test.want {
			t.Errorf("from %v to %v, %v times and %v: %v", test.was, test.is, test.factor, test.floor, got)
		}
	}
}

func TestCauseOf(t *testing.T) {
	for why, want := range map[string]string{
		`Internal error occurred: failed calling webhook "guard.exnoLimit.com": no endpoints available for service "guard"`: "webhook-unreachable",
		`admission webhook "guard.exnoLimit.com" denied the request`:                                                        "webhook-denied",
		"Cannot evict pod as it would violate the pod's disruption budget.":                                                 "budget-refuses",
		"waited 60s for pod x: last seen ErrImagePull":                                                                      "image-missing",
		"exit status 1": "",
	} {
		if got := CauseOf(why); got != want {
			t.Errorf("%s: %q, want %q", why, got, want)
		}
	}
}
