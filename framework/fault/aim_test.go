package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// talkedTo says of pods that they answer on both lanes; of all others that they answer on the one whose requests go anywhere.
func talkedTo(pods ...string) func(context.Context) (map[history.Lane][]string, error) {
	return func(context.Context) (map[history.Lane][]string, error) {
		return map[history.Lane][]string{
			history.LaneFresh: {"pod-001", "pod-002", "pod-003", "pod-004", "pod-005", "pod-006"},
			"stream":          pods,
		}, nil
	}
}

// TestVictimsAnswerOnEveryLane: whatever the seed, who is drained or deleted is one that clients of every kind talk to.
func TestVictimsAnswerOnEveryLane(t *testing.T) {
	for seed := range uint64(10) {
		for _, f := range []Fault{Drain{}, NodeKill{}, PodDelete{Count: 1}, PodDelete{Count: 3}, TryDrain{For: time.Minute}} {
			t.Run(fmt.Sprintf("%s, seed %d", f, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(6, "w1", "w2", "w3", "w4", "w5", "w6")
					target := w.target()
					target.Rand = rand.New(rand.NewPCG(seed, 0))
					one := w.podNames()[seed%6]
					target.Answered = talkedTo(one)
					heal, err := inject(t.Context(), f, target)
					if err != nil {
						t.Fatal(err)
					}
					if len(w.seenPods) == 0 || !slices.Contains(w.seenPods, one) {
						t.Errorf("it took %q, want %s to be among them", w.seenPods, one)
					}
					if err := heal(t.Context()); err != nil {
						t.Fatal(err)
					}
				})
			})
		}
	}
}

// TestAVictimIsWaitedForButNotForEver: connections that were lost are made again within seconds. Where no pod has all lanes, one is
// taken all the same: the verdict says that it had no traffic.
func TestAVictimIsWaitedForButNotForEver(t *testing.T) {
	candidates := [][]string{{"backend-1"}, {"backend-2", "backend-3"}, {"backend-4"}}
	for _, test := range []struct {
		name     string
		answered func(since time.Duration) (map[history.Lane][]string, error)
		want     int
		took     time.Duration
	}{
		{"at once", func(time.Duration) (map[history.Lane][]string, error) {
			return map[history.Lane][]string{"fresh": {"backend-2", "backend-4"}, "stream": {"backend-3", "backend-1"}}, nil
		}, 1, 0},
		{"after three seconds", func(since time.Duration) (map[history.Lane][]string, error) {
			if since < 3*time.Second {
				return map[history.Lane][]string{"fresh": {"backend-4"}, "stream": nil}, nil
			}
			return map[history.Lane][]string{"fresh": {"backend-4"}, "stream": {"backend-4"}}, nil
		}, 2, 3 * time.Second},
		{"never", func(time.Duration) (map[history.Lane][]string, error) {
			return map[history.Lane][]string{"fresh": {"backend-1"}, "stream": {"backend-4"}}, nil
		}, 0, aimLimit},
		{"nobody knows", func(time.Duration) (map[history.Lane][]string, error) { return nil, errors.New("no worker") }, 0, aimLimit},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				target := Target{Answered: func(context.Context) (map[history.Lane][]string, error) { return test.answered(time.Since(began)) }}
				got, err := target.aim(t.Context(), candidates)
				if took := time.Since(began).Round(time.Second); err != nil || got != test.want || took != test.took {
					t.Errorf("candidate %d after %s, error %v; want %d after %s", got, took, err, test.want, test.took)
				}
			})
		})
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	target := Target{Answered: talkedTo()}
	if _, err := target.aim(stopped, candidates); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
