package workloads

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

// TestFill: all pods are there, in as few Deployments as hold them, and with nothing else.
func TestFill(t *testing.T) {
	whole := func(n int, rest ...int32) (replicas []int32) {
		for range n {
			replicas = append(replicas, podsOfFill)
		}
		return append(replicas, rest...)
	}
	for pods, want := range map[int][]int32{
		0: nil, 1: {1}, 499: {499}, 500: {500}, 501: {500, 1}, 1000: {500, 500}, 149_999: whole(299, 499), 150_000: whole(300), -5000: nil,
	} {
		fill := Fill{Pods: pods}
		objects, err := fill.Objects(Place{Namespace: "ns", Image: "i"})
		if err != nil {
			t.Fatal(err)
		}
		var got []int32
		for i, o := range objects {
			d, is := o.(*appsv1.Deployment)
			if !is {
				t.Fatalf("%d pods: a %T", pods, o)
			}
			if d.Name != FillName(i) || d.Name != fmt.Sprintf("fill-%d", i+1) {
				t.Errorf("%d pods: Deployment %d is called %s", pods, i, d.Name)
			}
			if spread := d.Spec.Template.Spec.TopologySpreadConstraints; len(spread) != 1 || spread[0].TopologyKey != "holdfast.dev/none" || spread[0].WhenUnsatisfiable != ScheduleAnyway {
				t.Errorf("%d pods: those of %s have the spread %v", pods, d.Name, spread)
			}
			if !IsFill(d.Name) || IsFill("backend") {
				t.Errorf("IsFill does not tell %s from a backend", d.Name)
			}
			if len(d.Spec.Template.Spec.Tolerations) == 0 {
				t.Errorf("%d pods: those of %s do not tolerate simulated nodes", pods, d.Name)
			}
			got = append(got, *d.Spec.Replicas)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d pods (-want +got):\n%s", pods, diff)
		}
		if n := max(0, fill.Deployments()); n != len(objects) {
			t.Errorf("%d pods: %d Deployments are promised, and %d made", pods, n, len(objects))
		}
	}
}
