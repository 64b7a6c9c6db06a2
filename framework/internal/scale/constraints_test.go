package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/framework/scaling"
)

func TestComparison(t *testing.T) {
	bound := func(name string, cpu float64) scaling.Binding {
		return scaling.Binding{Constraint: name, Recorded: 2, Scheduler: scaling.Scheduler{CPU: cpu, Attempt: scaling.Histogram{Sum: 1, Count: 10}}}
	}
	all := []scaling.Constraint{{Name: "none"}, {Name: "hard"}}
	found := map[string][]scaling.Binding{
		"none": {bound("none", 0.1), bound("none", 0.3), bound("none", 0.2)},
		"hard": {bound("hard", 0.6), bound("hard", 0.4)},
	}
	text := comparison(all, found)
	for _, want := range []string{
		"| none | 20 ms (1.00 x; 10 ms to 30 ms) |", "| hard | 50 ms (2.50 x; 40 ms to 60 ms) |", " 2.00 s (1.00 x; 2.00 s to 2.00 s) |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

func TestRatio(t *testing.T) {
	for want, of := range map[string][2]float64{"2.50 x": {5, 2}, "0.00 x": {0, 2}, "–": {5, 0}} {
		if got := ratio(of[0], of[1]); got != want {
			t.Errorf("%v to %v is %q, want %q", of[0], of[1], got, want)
		}
	}
	all := []scaling.Constraint{{Name: "none"}}
	if text := comparison(all, map[string][]scaling.Binding{"none": {{Constraint: "none"}}}); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Errorf("nothing was measured, and the table is\n%s", text)
	}
}

// schedulerSays are metrics of a scheduler that has bound so many pods.
func schedulerSays(pods int) []byte {
	text := "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 9\n"
	for _, name := range []string{"scheduler_pod_scheduling_sli_duration_seconds", "scheduler_scheduling_algorithm_duration_seconds", "scheduler_scheduling_attempt_duration_seconds"} {
		text += fmt.Sprintf("# TYPE %[1]s histogram\n%[1]s_bucket{result=\"scheduled\",le=\"+Inf\"} %[2]d\n%[1]s_sum{result=\"scheduled\"} 1\n%[1]s_count{result=\"scheduled\"} %[2]d\n", name, pods)
	}
	return []byte(text)
}

// The cluster is held while it is measured, and released also after an error or an interrupt. When another process takes it, measuring ends.
func TestConstraintsHoldTheCluster(t *testing.T) {
	died := errors.New("the scheduler died")
	interrupted := errors.New("interrupted by a test")
	for name, test := range map[string]struct {
		// asked is called in place of the scheduler, with the leases of the cluster and what interrupts the measurement.
		asked func(leases []coordinationv1.Lease, interrupt func(error)) error
		takes bool // another process takes the cluster when the scheduler is asked
		want  string
	}{
		"to the end":         {},
		"until an error":     {asked: func([]coordinationv1.Lease, func(error)) error { return died }, want: died.Error()},
		"until an interrupt": {asked: func(_ []coordinationv1.Lease, interrupt func(error)) error { interrupt(interrupted); return nil }, want: interrupted.Error()},
		"until it is taken":  {takes: true, want: "cluster demo was taken over by "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clustertest.New("demo", clusters.Spec{Zones: []string{"a"}, SimulatedNodes: 4})
				client, err := kubernetes.NewForConfig(fake.Config())
				errtest.Check(t, err, "")
				ctx, interrupt := context.WithCancelCause(t.Context())
				defer interrupt(nil)
				asked := 0
				fake.Node("cp").OnExec = func([]string) ([]byte, error) {
					asked++
					leases := holders(t, client)
					if len(leases) != 1 || !strings.Contains(fmt.Sprint(leases[0]), "scale constraints") {
						t.Errorf("while it is measured, the cluster is held by %v", leases)
					}
					if test.takes && asked == 2 {
						take(t, client, leases[0])
					}
					if test.asked != nil {
						if err := test.asked(leases, interrupt); err != nil {
							return nil, err
						}
					}
					return schedulerSays(3 * asked), nil
				}
				all := scaling.Constraints()
				found, err := measureConstraints(ctx, fake, all, 3, 2, rand.New(rand.NewPCG(1, 0)))
				errtest.Check(t, err, test.want)
				if test.want == "" && (len(found) != len(all) || len(found["none"]) != 2) {
					t.Errorf("measured %+v", found)
				}
				if left := len(holders(t, client)); (left > 0) != test.takes {
					t.Errorf("%d Leases are left", left)
				}
				if fake.Get("/api/v1/namespaces/hf-scaling") != nil {
					t.Error("the pods are left")
				}
			})
		})
	}
}

// What another process holds is not measured.
func TestConstraintsOfAClusterInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := clustertest.New("demo", clusters.Spec{Zones: []string{"a"}, SimulatedNodes: 4})
		other, err := maintenance.Take(t.Context(), fake, "run 7")
		errtest.Check(t, err, "")
		_, err = measureConstraints(t.Context(), fake, scaling.Constraints(), 3, 1, rand.New(rand.NewPCG(1, 0)))
		if by := (*hold.HeldError)(nil); !errors.As(err, &by) || by.Run != "run 7" {
			t.Errorf("got %v", err)
		}
		errtest.Check(t, other.Release(t.Context()), "")
	})
}

// holders are the Leases by which processes hold a cluster.
func holders(t *testing.T, client kubernetes.Interface) []coordinationv1.Lease {
	t.Helper()
	list, err := client.CoordinationV1().Leases(hold.Namespace).List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	errtest.Check(t, err, "")
	return list.Items
}

// take gives the Lease of a cluster another holder, and waits until the present one has seen that.
func take(t *testing.T, client kubernetes.Interface, lease coordinationv1.Lease) {
	t.Helper()
	for key, value := range lease.Annotations {
		lease.Annotations[key] = strings.ReplaceAll(value, `"token":"`, `"token":"not `)
	}
	_, err := client.CoordinationV1().Leases(hold.Namespace).Update(t.Context(), &lease, metav1.UpdateOptions{})
	errtest.Check(t, err, "")
	errtest.Check(t, poll.Pass(t.Context(), time.Minute), "") // by when it has renewed the Lease, in vain
}

func TestConstraintsRefuses(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"--pods", "0", "a"}, {"--rounds", "0", "a"}, {"--colour", "a"}} {
		want := "want the name of one cluster, and at least one pod and one round"
		if slices.Contains(args, "--colour") {
			want = "flag provided but not defined: -colour"
		}
		errtest.Check(t, constraints(t.Context(), args, &strings.Builder{}), want)
	}
}
