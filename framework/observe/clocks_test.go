package observe

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// A machine that sleeps records nothing, and its record's clock stands still: what happened meanwhile has no time.
func TestSleepIsAGap(t *testing.T) {
	for name, test := range map[string]struct {
		asleep, set time.Duration
		want        string
	}{
		"awake":            {},
		"a lid":            {asleep: 8 * time.Hour, want: "this machine was suspended for 8h0m0s"},
		"a paused VM":      {set: 5 * time.Minute, want: "the clock of this machine was moved forward by 5m0s"},
		"NTP slews":        {set: 500 * time.Millisecond},
		"NTP steps back":   {set: -time.Hour},
		"a lid, then NTP":  {asleep: time.Minute, set: 3 * time.Second, want: "this machine was suspended for 1m0s"},
		"a moment's sleep": {asleep: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				now := func() history.Offset { return time.Since(began) }
				read := func() clockReading {
					c := clockReading{Running: now(), Boot: now(), Wall: now()}
					if now() > 10*time.Second {
						c.Boot += test.asleep
						c.Wall += test.asleep + test.set
					}
					return c
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				var gaps []history.Event
				watchClocks(ctx, read, now, func(e history.Event) { gaps = append(gaps, e) })
				switch {
				case test.want == "" && len(gaps) > 0:
					t.Errorf("gaps %+v", gaps[0].Gap)
				case test.want == "":
				case len(gaps) != 1 || !strings.HasPrefix(gaps[0].Gap.Why, test.want) || gaps[0].Gap.Bridged || gaps[0].Gap.Since != 10*time.Second:
					t.Errorf("gaps %v, want one from 10s: %s", gaps, test.want)
				}
			})
		})
	}
}

// The real clocks run, and not apart.
func TestClocksRun(t *testing.T) {
	was := readClocks()
	is := readClocks()
	if was.Running == 0 || was.Boot == 0 || was.Wall == 0 || is.Running < was.Running || is.since(was) != "" {
		t.Errorf("%+v, then %+v: %s", was, is, is.since(was))
	}
}
