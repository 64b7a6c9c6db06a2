package run

import (
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// A run leaves out what would not end in time at its own pace, and from then on everything but what comes first.
func TestFits(t *testing.T) {
	minute := func(name string, first bool) scenario.Spec {
		return scenario.Spec{Name: name, About: time.Minute, First: first}
	}
	for _, test := range []struct {
		what           string
		budget, passed time.Duration
		ended          int // scenarios of a minute each
		first, want    bool
	}{
		{"no budget", 0, 24 * time.Hour, 3, false, false},
		{"it fits", 10 * time.Minute, 5 * time.Minute, 5, false, false},
		{"it ends just in time", 10 * time.Minute, 9 * time.Minute, 9, false, false},
		{"it would end too late", 10 * time.Minute, 9*time.Minute + time.Second, 10, false, true},
		{"each takes three minutes", 10 * time.Minute, 8 * time.Minute, 3, false, true},
		{"nothing has ended yet", 10 * time.Minute, 8 * time.Minute, 0, false, false},
		{"it tells most", 10 * time.Minute, time.Hour, 10, true, false},
	} {
		b := &budget{Limit: test.budget, Began: time.Unix(0, 0)}
		now := b.Began.Add(test.passed)
		for range test.ended {
			b.Ended(minute("chaos/before", false))
		}
		if fits := b.Fits(minute("chaos/a", test.first), now); fits == test.want {
			t.Errorf("%s: it fits: %v", test.what, fits)
		}
		if test.want && (b.Fits(scenario.Spec{About: time.Second}, b.Began) || !b.Fits(minute("chaos/b", true), now)) {
			t.Errorf("%s: a short one begins after one was left out, or one that tells most does not", test.what)
		}
		if (b.Spent() != "") != test.want {
			t.Errorf("%s: spent: %q", test.what, b.Spent())
		}
	}
}
