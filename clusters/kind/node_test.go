package kind

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

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

func TestVerbOnANodeThatIsDown(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	e.Containers["holdfast-x-worker"].State = "exited"
	err := nodeOf(t, c, clusters.Worker).Pause(t.Context())
	const want = "pause holdfast-x-worker: run podman pause: exit status 125: Error: holdfast-x-worker is in state exited: container state improper"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestSilentAsksWhoIsUp(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	e.Exec = e.Answer
	worker, load := nodeOf(t, c, clusters.Worker), nodeOf(t, c, clusters.LoadNode)
	e.Containers[load.name].State = "paused"
	if _, err := worker.Silent(t.Context()); err != nil {
		t.Fatal(err)
	}
	if asked := e.Called("exec --privileged holdfast-x-control-plane "); len(asked) != 1 {
		t.Errorf("the control plane was asked %d times, not once", len(asked))
	}
	e.Containers["holdfast-x-control-plane"].State = "exited"
	_, err := worker.Silent(t.Context())
	if err == nil || err.Error() != "probe holdfast-x-worker: no other node of cluster x is running" {
		t.Errorf("without another running node: %v", err)
	}
}

func TestSilentTellsNoAnswerFromNoQuestion(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	worker := nodeOf(t, c, clusters.Worker)
	e.Exec = func(string, []string) ([]byte, error) { return nil, nil } // as if curl were missing
	if _, err := worker.Silent(t.Context()); err == nil || !strings.Contains(err.Error(), `curl on holdfast-x-worker2 printed ""`) {
		t.Errorf("got %v", err)
	}
	e.Exec = func(string, []string) ([]byte, error) { return nil, errors.New("the engine died") }
	if _, err := worker.Silent(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "the engine died") {
		t.Errorf("got %v", err)
	}
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

// If its address is taken, a node must still get another one.
func TestAddressThatIsTaken(t *testing.T) {
	e := newFakeEngine("docker")
	worker := nodeOf(t, fakeCluster(t, e), clusters.Worker)
	e.Containers[worker.name].State = "exited"
	var refuse func(args []string) bool
	e.Fail = func(args []string) error {
		if strings.HasPrefix(strings.Join(args, " "), "network connect") && refuse(args) {
			return errors.New("address already in use")
		}
		return nil
	}
	refuse = func(args []string) bool { return args[2] == "--ip" }
	if err := worker.startMachine(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at := worker.lastAddress(); at.ip == "" || at.ip == "10.89.0.3" {
		t.Errorf("it is at %v, want a new address", at)
	}
	e.Containers[worker.name].State = "exited"
	refuse = func([]string) bool { return true }
	if err := worker.startMachine(t.Context()); err == nil || !strings.Contains(err.Error(), "pin holdfast-x-worker to ") {
		t.Errorf("without any network: %v", err)
	}
}

func TestStartOfAPausedNode(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	e.Containers["holdfast-x-worker"].State = "paused"
	err := nodeOf(t, c, clusters.Worker).Start(t.Context())
	if err == nil || err.Error() != "start holdfast-x-worker: it is paused; resume it" {
		t.Errorf("got %v", err)
	}
}

func TestNodesInOrder(t *testing.T) {
	var got []string
	for _, n := range fakeCluster(t, newFakeEngine("podman")).Nodes() {
		got = append(got, string(n.Role())+" "+n.Zone()+" "+n.Name())
	}
	want := []string{"control-plane  holdfast-x-control-plane", "worker a holdfast-x-worker", "load  holdfast-x-worker2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Nodes (-want +got):\n%s", diff)
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
