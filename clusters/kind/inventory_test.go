package kind

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
)

func TestListFindsWholeClustersAndRemains(t *testing.T) {
	e := withCluster(t, "podman")
	e.Run("kind-control-plane") // not a holdfast container
	e.Volumes["data"] = "map[owner:me]"
	e.Volumes["v1"] = "map[holdfast-crashed-worker2:true]"
	e.Networks["podman"] = map[string]string{}
	e.Networks["holdfast-claimed"] = map[string]string{labelCluster: "claimed", labelRecord: "{broken"}
	e.Run("holdfast-half-worker")
	e.Containers["holdfast-half-worker"].State = "created"

	got, err := List(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	want := []Summary{
		{Name: "claimed", Containers: map[string]clusters.NodeState{}, Networks: []string{"holdfast-claimed"}},
		{Name: "crashed", Containers: map[string]clusters.NodeState{}, Volumes: []string{"v1"}},
		{
			Name: "half", Containers: map[string]clusters.NodeState{"holdfast-half-worker": clusters.Exited},
			Volumes: []string{"vol-holdfast-half-worker"},
		},
		{
			Name: "x", Spec: zonedSpec, Made: time.Unix(0, 0).UTC(),
			Containers: map[string]clusters.NodeState{
				"holdfast-x-control-plane": clusters.Running, "holdfast-x-worker": clusters.Running, "holdfast-x-worker2": clusters.Running,
			},
			Volumes:  []string{"vol-holdfast-x-control-plane", "vol-holdfast-x-worker", "vol-holdfast-x-worker2"},
			Networks: []string{"holdfast-x"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
}

func TestMakeNetwork(t *testing.T) {
	r := clusterRecord{Spec: zonedSpec, Image: "node:v1"}
	podman, docker := newFakeEngine("podman"), newFakeEngine("docker")
	for _, e := range []*fakeEngine{podman, docker} {
		if err := reserve(t.Context(), e, "x", r); err != nil {
			t.Fatal(err)
		}
		n, err := inspectNetwork(t.Context(), e, "x")
		if err != nil {
			t.Fatal(err)
		}
		got, err := n.record()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("%s: the record (-want +got):\n%s", e.Name(), diff)
		}
		err = reserve(t.Context(), e, "x", r)
		if err == nil || !strings.Contains(err.Error(), "it exists already: choose another name, or remove it with 'holdfast down x'") {
			t.Errorf("%s: a second time: %v", e.Name(), err)
		}
	}
	made := docker.Called("network create")
	if len(made) != 3 || !strings.Contains(made[0], "mtu=1450") || strings.Contains(made[0], "--subnet") ||
		!strings.Contains(made[1], "--subnet 172.20.0.0/16") {
		t.Errorf("docker keeps an address only in an explicit subnet; commands: %q", made)
	}
}
