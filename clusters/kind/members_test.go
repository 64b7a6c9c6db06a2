package kind

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
)

func TestMembers(t *testing.T) {
	spec := clusters.Spec{Zones: []string{"a", "b"}, WorkersPerZone: 2, ControlPlanes: 2}
	want := []member{
		{"holdfast-x-control-plane", clusters.ControlPlane, ""},
		{"holdfast-x-control-plane2", clusters.ControlPlane, ""},
		{"holdfast-x-worker", clusters.Worker, "a"},
		{"holdfast-x-worker2", clusters.Worker, "a"},
		{"holdfast-x-worker3", clusters.Worker, "b"},
		{"holdfast-x-worker4", clusters.Worker, "b"},
		{"holdfast-x-worker5", clusters.LoadNode, ""},
	}
	if diff := cmp.Diff(want, members("x", spec), cmp.AllowUnexported(member{})); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}
