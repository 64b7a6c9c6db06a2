package poll_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

func TestUntilReturnsWhenTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, checks := time.Now(), 0
		err := poll.Until(t.Context(), "the third check", time.Minute, func(context.Context) (bool, string, error) {
			checks++
			return checks == 3, "a check", nil
		})
		if err != nil || checks != 3 {
			t.Fatalf("Until: %v after %d checks, want nil after 3", err, checks)
		}
		if took := time.Since(began); took != 2*poll.Interval {
			t.Errorf("took %s, want two intervals: the first check comes at once", took)
		}
	})
}

// A check that takes long is made less often, so that waiting for a busy machine does not keep it busy.
func TestSlowChecksAreFurtherApart(t *testing.T) {
	for took, apart := range map[time.Duration]time.Duration{
		10 * time.Millisecond:  poll.Interval,
		50 * time.Millisecond:  poll.Interval,
		100 * time.Millisecond: 500 * time.Millisecond,
		5 * time.Second:        6 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			began, checks := time.Now(), 0
			err := poll.Until(t.Context(), "the third check", time.Minute, func(context.Context) (bool, string, error) {
				checks++
				time.Sleep(took)
				return checks == 3, "a check", nil
			})
			if want := 2*apart + took; err != nil || time.Since(began) != want {
				t.Errorf("checks of %s: the third ended after %s, want %s (%v)", took, time.Since(began), want, err)
			}
		})
	}
}

func TestUntilSaysWhatItLastSaw(t *testing.T) {
	away := errors.New("connection refused")
	for name, test := range map[string]struct {
		check poll.Check
		want  string
	}{
		"a state that stays": {
			check: func(context.Context) (bool, string, error) { return false, "Ready=True", nil },
			want: "waited 10s for node w3 to be NotReady: last seen Ready=True (40 checks, last error: none): " +
				"context deadline exceeded",
		},
		"an error that stays": {
			check: func(context.Context) (bool, string, error) { return false, "", away },
			want: "waited 10s for node w3 to be NotReady: last seen nothing (40 checks, last error: connection refused): " +
				"context deadline exceeded",
		},
		"an error does not count as done": {
			check: func(context.Context) (bool, string, error) { return true, "half an answer", away },
			want: "waited 10s for node w3 to be NotReady: last seen half an answer (40 checks, last error: connection " +
				"refused): context deadline exceeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The limit ends just before a tick, so that the two do not coincide.
				err := poll.Until(t.Context(), "node w3 to be NotReady", 10*time.Second-time.Millisecond, test.check)
				if err == nil || err.Error() != test.want {
					t.Errorf("got  %v\nwant %s", err, test.want)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v: want it to be a DeadlineExceeded", err)
				}
			})
		})
	}
}

// A check that is cut off by the limit returns "deadline exceeded". The error before it is more useful.
func TestUntilKeepsTheErrorBeforeItsOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		err := poll.Until(t.Context(), "an answer", time.Second, func(ctx context.Context) (bool, string, error) {
			if checks++; checks == 1 {
				return false, "", errors.New("no route to host")
			}
			<-ctx.Done()
			return false, "", ctx.Err()
		})
		want := "waited 1s for an answer: last seen nothing (2 checks, last error: no route to host): context deadline exceeded"
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	})
}

// A listener is told of each check that is not done, of what could not be seen, and of the end of the wait, however it ends.
func TestAListenerIsToldWhatIsAwaited(t *testing.T) {
	for name, test := range map[string]struct {
		limit time.Duration
		told  []string
	}{
		"it holds":         {time.Minute, []string{"w3: Ready=True", "w3: no route to host", "w3: ", "w3 is over"}},
		"the limit passes": {poll.Interval / 2, []string{"w3: Ready=True", "w3 is over"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var told []string
			ctx := poll.Listen(t.Context(), func(what, saw string, over bool) {
				if over {
					told = append(told, what+" is over"+saw)
					return
				}
				told = append(told, what+": "+saw)
			})
			checks := 0
			err := poll.Until(context.WithoutCancel(ctx), "w3", test.limit, func(context.Context) (bool, string, error) {
				switch checks++; checks {
				case 1:
					return false, "Ready=True", nil
				case 2:
					return true, "Ready=False", errors.New("no route to host")
				case 3:
					return false, "", nil
				}
				return true, "Ready=False", nil
			})
			if (err == nil) != (test.limit == time.Minute) || !slices.Equal(told, test.told) {
				t.Errorf("%s: told %q, want %q (%v)", name, told, test.told, err)
			}
		})
	}
}

func TestUntilEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		err := poll.Until(ctx, "nothing", time.Hour, func(context.Context) (bool, string, error) { return false, "", nil })
		if !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("got %v after %s, want Canceled after 1s", err, time.Since(began))
		}
	})
}

func TestPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := poll.Pass(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("Pass: %v after %s, want nil after 1m", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := poll.Pass(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Pass cut short: %v, want DeadlineExceeded", err)
		}
	})
}
