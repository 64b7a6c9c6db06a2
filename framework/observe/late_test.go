package observe

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// wrong is an API server's clock that is wrong by minutes, and known to half a second.
type wrong struct{ by time.Duration }

func (w wrong) Bounds() (earliest, latest time.Time, ok bool) {
	now := time.Now().Add(w.by)
	return now.Add(-250 * time.Millisecond), now.Add(250 * time.Millisecond), w.by != 0
}

// A watch that is late by itself, while nothing else is watched, is seen by the dates in the objects, however wrong the server's clock is.
func TestAWatchThatIsLateByItsDates(t *testing.T) {
	for name, test := range map[string]struct {
		late, clock time.Duration
		gap         bool
	}{
		"in time":                {900 * time.Millisecond, 7 * time.Minute, false},
		"within the rounding":    {2 * time.Second, 7 * time.Minute, false},
		"late":                   {4 * time.Second, 7 * time.Minute, true},
		"late, and a slow clock": {4 * time.Second, -3 * time.Hour, true},
		"the clock is not known": {4 * time.Second, 0, false},
	} {
		for _, what := range []string{"created", "deleted"} {
			t.Run(name+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					live := watch.NewFakeWithChanSize(1, false)
					s := &script{lists: []any{[]*corev1.Pod{pod("a", "9")}}, watches: []any{live}, sink: &notebook{began: time.Now()}}
					st := s.stream()
					st.clock = wrong{test.clock}
					changed := pod("b", "15")
					stamp := metav1.NewTime(time.Now().Add(10 * time.Second).Add(test.clock).Truncate(time.Second))
					changed.CreationTimestamp = stamp
					kind := watch.Added
					if what == "deleted" {
						kind, changed = watch.Modified, pod("a", "15")
						ends := metav1.NewTime(stamp.Add(30 * time.Second))
						changed.DeletionTimestamp, changed.DeletionGracePeriodSeconds = &ends, new(int64(30))
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					go func() {
						time.Sleep(10*time.Second + test.late)
						live.Action(kind, changed)
					}()
					if err := st.list(ctx); err != nil {
						t.Fatal(err)
					}
					if err := st.follow(ctx); err != nil {
						t.Fatal(err)
					}
					gaps := 0
					for _, e := range s.sink.events {
						if e.Gap != nil {
							gaps++
							if !e.Gap.Bridged || !strings.Contains(e.Gap.Why, "after the API server had dated it") || e.Gap.Since > 10*time.Second || e.Gap.Since < 8*time.Second {
								t.Errorf("gap %+v", e.Gap)
							}
						}
					}
					if (gaps == 1) != test.gap || gaps > 1 {
						t.Errorf("%d gaps, want %t: %v", gaps, test.gap, s.sink.words())
					}
				})
			})
		}
	}
}
