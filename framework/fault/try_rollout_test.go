package fault

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A rollout that cannot come to its end is no error: what it has come to is what is told.
func TestTryRolloutTellsHowFarItCame(t *testing.T) {
	for _, test := range []struct {
		name  string
		stuck bool
		want  string
	}{
		{"it goes through", false, "after 20s the update is at its end: 6 pods exist, 6 of the newest revision"},
		{"a pod finds no place", true, "after 20s the update is not at its end: 7 pods exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				w.frozen = test.stuck
				if test.stuck {
					surge := &corev1.Pod{}
					surge.Name, surge.Namespace, surge.Labels = "surge", "ns", map[string]string{"app": "backend"}
					surge.Annotations = map[string]string{rolloutAnnotation: "after 7"} // as the new template says
					go func() {
						time.Sleep(5 * time.Second)
						_ = w.client.Tracker().Add(surge)
					}()
				}
				began := time.Now()
				heal, err := inject(t.Context(), TryRollout{For: 20 * time.Second}, w.target())
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < 20*time.Second {
					t.Errorf("it looked after %s", took)
				}
				if len(w.seen) != 1 || !strings.Contains(w.seen[0], test.want) {
					t.Errorf("seen %q, want %q", w.seen, test.want)
				}
				if test.stuck {
					return // as it must not be healed by a world that does nothing
				}
				if err := heal(t.Context()); err != nil || len(w.healed) != 1 || !strings.HasPrefix(w.healed[0], "rolled back: ") {
					t.Errorf("healed %q, %v", w.healed, err)
				}
			})
		})
	}
}
