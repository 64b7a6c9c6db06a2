package kind

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
)

func TestMembers(t *testing.T) {
	spec := clusters.Spec{Zones: []string{"a", "b"}, WorkersPerZone: 2, ControlPlanes: 2}
	want := []member{
		{name: "holdfast-x-control-plane", role: clusters.ControlPlane},
		{name: "holdfast-x-control-plane2", role: clusters.ControlPlane},
		{name: "holdfast-x-worker", role: clusters.Worker, zone: "a"},
		{name: "holdfast-x-worker2", role: clusters.Worker, zone: "a"},
		{name: "holdfast-x-worker3", role: clusters.Worker, zone: "b"},
		{name: "holdfast-x-worker4", role: clusters.Worker, zone: "b"},
		{name: "holdfast-x-worker5", role: clusters.LoadNode},
	}
	if diff := cmp.Diff(want, members("x", spec), cmp.AllowUnexported(member{})); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	for _, m := range members("x", clusters.Spec{Zones: []string{"a"}, WorkersPerZone: 1, ControlPlanes: 1, Plain: true}) {
		if m.role == clusters.LoadNode || !m.unlabelled {
			t.Errorf("a plain cluster has %+v", m)
		}
	}
}
