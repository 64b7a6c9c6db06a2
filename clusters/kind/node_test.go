package kind

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/holdfast-ha/holdfast/clusters"
)

func nodeOf(t *testing.T, c *Cluster, role clusters.Role) *Node {
	t.Helper()
	at := slices.IndexFunc(c.nodes, func(n *Node) bool { return n.role == role })
	if at < 0 {
		t.Fatalf("no %s", role)
	}
	return c.nodes[at]
}

func TestVerbsAreWitnessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine("podman")
		c := fakeCluster(t, e)
		e.Exec = e.Answer
		worker := nodeOf(t, c, clusters.Worker)
		for _, step := range []struct {
			verb   func(context.Context) error
			want   clusters.NodeState
			silent bool
		}{
			{worker.Pause, clusters.Paused, true},
			{worker.Resume, clusters.Running, false},
			{worker.Kill, clusters.Exited, true},
		} {
			if err := step.verb(t.Context()); err != nil {
				t.Fatal(err)
			}
			state, err := worker.State(t.Context())
			if err != nil || state != step.want {
				t.Errorf("state %s, %v, want %s", state, err, step.want)
			}
			silent, err := worker.Silent(t.Context())
			if err != nil || silent != step.silent {
				t.Errorf("silent %t, %v, want %t", silent, err, step.silent)
			}
		}
		if asked := e.Called("exec --privileged holdfast-x-worker2 "); len(asked) == 0 {
			t.Error("the load node was not asked")
		}
	})
}

// Kill fails unless another node sees that the node no longer answers.
func TestVerbThatIsNotSeenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine("podman")
		c := fakeCluster(t, e)
		e.Exec = func(string, []string) ([]byte, error) { return []byte("200"), nil }
		err := nodeOf(t, c, clusters.Worker).Kill(t.Context())
		fails(t, err, "kill holdfast-x-worker: waited 30s for its effect: last seen its kubelet still answers "+
			"(N checks, last error: none): context deadline exceeded")
	})
}

// An engine assigns the next free address to a starting container. A node must keep its own.
func TestAddressIsPinned(t *testing.T) {
	for engine, want := range map[string]string{
		"podman": "network connect --ip 10.89.0.3 --mac-address 02:00:00:00:00:03 holdfast-x holdfast-x-worker",
		"docker": "network connect --ip 10.89.0.3 holdfast-x holdfast-x-worker",
	} {
		e := newFakeEngine(engine)
		worker := nodeOf(t, fakeCluster(t, e), clusters.Worker)
		e.Containers[worker.name].State = "exited"
		if err := worker.startMachine(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := e.Called("network connect"); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", engine, got, want)
		}
		if at, err := addressOf(t.Context(), e, worker.name); err != nil || at.ip != "10.89.0.3" {
			t.Errorf("%s: it is at %v, %v", engine, at, err)
		}
	}
}

// The witnesses decide: podman was seen to kill a container and yet to report an error.
func TestVerbThatIsRefusedAndSeenAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine("podman")
		c := fakeCluster(t, e)
		e.Exec = e.Answer
		worker := nodeOf(t, c, clusters.Worker)
		e.Fail = func(args []string) error {
			if args[0] != "kill" {
				return nil
			}
			e.Containers[worker.name].State = "exited"
			return errors.New("timed out waiting for its exit")
		}
		if err := worker.Kill(t.Context()); err != nil {
			t.Errorf("the node is dead, but Kill returned %v", err)
		}
	})
}
