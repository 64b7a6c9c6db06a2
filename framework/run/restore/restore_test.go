package restore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// disk is what is left on a machine: undos, whether one of them fails, and a timer.
type disk struct {
	undos  []string
	broken string
	timer  string
}

func (d *disk) exec(command []string) ([]byte, error) {
	switch verb := command[3]; verb {
	case "list":
		return []byte(strings.Join(d.undos, "\n")), nil
	case "undo":
		if command[5] == d.broken {
			return nil, errors.New("read-only file system")
		}
		d.undos = slices.DeleteFunc(d.undos, func(name string) bool { return name == command[5] })
	case "calm":
		timer := d.timer
		d.timer = ""
		return []byte(timer), nil
	}
	return nil, nil
}

// leftBehind is a cluster with undo scripts on its nodes, none yet.
func leftBehind() (*clustertest.Cluster, map[string]*disk) {
	fake, disks := clustertest.New("demo", clusters.Spec{Zones: []string{"a", "b"}}), map[string]*disk{}
	for _, m := range fake.Machines {
		disks[m.Name()] = &disk{}
		m.OnExec = disks[m.Name()].exec
	}
	return fake, disks
}

func healed(t *testing.T, fake *clustertest.Cluster) (said []string, err error) {
	t.Helper()
	err = Cluster(t.Context(), fake, func(what string) { said = append(said, what) })
	return said, err
}

// TestClusterRevertsWhatAKilledHarnessLeft, and does nothing the second time.
func TestClusterRevertsWhatAKilledHarnessLeft(t *testing.T) {
	part := map[string]string{workloads.LabelPartOf: workloads.PartOf}
	for name, test := range map[string]struct {
		left func(*clustertest.Cluster, map[string]*disk)
		want []string
	}{
		"nothing":  {func(*clustertest.Cluster, map[string]*disk) {}, nil},
		"a frozen": {func(h *clustertest.Cluster, _ map[string]*disk) { h.Node("wa1").SetState(clusters.Paused) }, []string{"unpaused wa1"}},
		"a dead":   {func(h *clustertest.Cluster, _ map[string]*disk) { h.Node("wb1").SetState(clusters.Exited) }, []string{"started wb1"}},
		"all of it away, the control plane first": {func(h *clustertest.Cluster, _ map[string]*disk) {
			for _, m := range h.Machines {
				m.SetState(clusters.Exited)
			}
		}, []string{"started cp", "started load", "started wa1", "started wb1"}},
		"undos, also on what is frozen": {func(h *clustertest.Cluster, d map[string]*disk) {
			h.Node("wa1").SetState(clusters.Paused)
			d["wa1"].undos, d["cp"].undos = []string{"partition", "node-pressure"}, []string{"kube-apiserver", "../no", "lost+found"}
		}, []string{"ran the undo kube-apiserver on cp", "unpaused wa1", "ran the undo partition on wa1", "ran the undo node-pressure on wa1"}},
		"a timer": {func(_ *clustertest.Cluster, d map[string]*disk) { d["wa1"].timer = "holdfast-undo-x.timer\n" }, []string{"removed holdfast-undo-x.timer on wa1"}},
		"a cordon of ours": {func(h *clustertest.Cluster, _ map[string]*disk) {
			h.EditNode("wa1", func(n *corev1.Node) {
				n.Spec.Unschedulable, n.Annotations = true, map[string]string{"holdfast.dev/cordoned": "true"}
			})
		}, []string{"uncordoned wa1"}},
		"a namespace of ours, and others": {func(h *clustertest.Cluster, _ map[string]*disk) {
			h.Put("/api/v1/namespaces", workloads.Namespace("hf-chaos-drain"))
			h.Put("/api/v1/namespaces", workloads.Namespace("elsewhere"))
			h.Put("/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hf-somebodys"}})
		}, []string{"removed namespace hf-chaos-drain"}},
		"what lies outside": {func(h *clustertest.Cluster, _ map[string]*disk) {
			const rbac = "/apis/rbac.authorization.k8s.io/v1"
			h.Put(rbac+"/clusterroles", &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "ours", Labels: part}})
			h.Put(rbac+"/clusterroles", &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "somebodys"}})
			h.Put(rbac+"/namespaces/kube-system/rolebindings", &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "ours", Namespace: "kube-system", Labels: part}})
		}, []string{"removed ClusterRole ours", "removed RoleBinding ours"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake, disks := leftBehind()
				test.left(fake, disks)
				said, err := healed(t, fake)
				if strings.HasPrefix(name, "what lies") { // kinds come in any order
					slices.Sort(said)
				}
				if err != nil || !slices.Equal(said, test.want) {
					t.Errorf("%v, it says\n%q\nwant\n%q", err, said, test.want)
				}
				if again, err := healed(t, fake); err != nil || len(again) != 0 {
					t.Errorf("again: %v, it says %q", err, again)
				}
			})
		})
	}
}

// TestClusterNamesWhatItCannotRevert: the node, the reason and the next step. It still reverts the rest.
func TestClusterNamesWhatItCannotRevert(t *testing.T) {
	for name, test := range map[string]struct {
		left func(*clustertest.Cluster, map[string]*disk)
		said []string
		want string
	}{
		"the engine is away": {func(h *clustertest.Cluster, _ map[string]*disk) { h.Node("wa1").FailState(errors.New("no engine")) }, nil, "heal cluster demo: no engine"},
		"one cannot be thawed": {func(h *clustertest.Cluster, _ map[string]*disk) {
			h.Node("wa1").SetState(clusters.Paused)
			h.Node("wa1").NotBack = errors.New("see wa1 after resume: its kubelet does not answer")
		}, []string{"unpaused wa1"}, "heal cluster demo: see wa1 after resume: its kubelet does not answer; try once more, or remove the cluster with 'holdfast down demo'"},
		"one undo fails": {func(_ *clustertest.Cluster, d map[string]*disk) {
			d["wa1"].undos, d["wa1"].broken = []string{"bad", "good"}, "bad"
			d["wb1"].undos = []string{"other"}
		}, []string{"ran the undo good on wa1", "ran the undo other on wb1"}, "heal cluster demo: run the undo bad on wa1: read-only file system"},
		"somebody's cordon": {func(h *clustertest.Cluster, _ map[string]*disk) {
			h.EditNode("wa1", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		}, nil, "last seen node wa1 is cordoned ("},
		"no API server": {func(h *clustertest.Cluster, _ map[string]*disk) {
			h.Refuse = func(string, string) *apierrors.StatusError { return apierrors.NewServiceUnavailable("starting") }
		}, nil, "heal cluster demo: waited 5m0s for the API server to answer: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake, disks := leftBehind()
				test.left(fake, disks)
				said, err := healed(t, fake)
				errtest.Check(t, err, test.want)
				if !slices.Equal(said, test.said) {
					t.Errorf("it says %q, want %q", said, test.said)
				}
			})
		})
	}
}

// large is a cluster whose lost nodes take a while to start, and some do not.
type large struct {
	*clustertest.Cluster
	broken []string
}

func (l large) Nodes() (all []clusters.Node) {
	for _, n := range l.Cluster.Nodes() {
		all = append(all, slow{n, slices.Contains(l.broken, n.Name())})
	}
	return all
}

type slow struct {
	clusters.Node
	broken bool
}

func (s slow) Start(ctx context.Context) error {
	if state, err := s.State(ctx); err != nil || state == clusters.Running {
		return err
	}
	if err := poll.Pass(ctx, 10*time.Second); err != nil {
		return err
	}
	if s.broken {
		return errors.New("no lease")
	}
	return s.Node.Start(ctx)
}

// TestSimulatedNodesStartTogether, and are one line and one error, however many there are. Real nodes are started one after the other, before them.
func TestSimulatedNodesStartTogether(t *testing.T) {
	for name, test := range map[string]struct {
		broken []string
		said   []string
		want   string
	}{
		"all of them": {nil, []string{"started wa1", "started wb1", "started 500 simulated nodes"}, ""},
		"all but two": {
			[]string{"sim1", "sim500"}, []string{"started wa1", "started wb1", "started 498 simulated nodes"},
			"heal cluster demo: start 500 simulated nodes: 2 do not run, one of them: no lease",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := large{clustertest.New("demo", clusters.Spec{Zones: []string{"a", "b"}, SimulatedNodes: 500}), test.broken}
				for _, m := range fake.Machines {
					if m.Role() == clusters.Simulated || m.Role() == clusters.Worker {
						m.SetState(clusters.Exited)
					}
				}
				var said []string
				began := time.Now()
				err := Cluster(t.Context(), fake, func(what string) { said = append(said, what) })
				errtest.Check(t, err, test.want)
				if !slices.Equal(said, test.said) {
					t.Errorf("it says %q, want %q", said, test.said)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// headless is a cluster whose API server, which knows the simulated nodes, runs on its control plane.
type headless struct{ *clustertest.Cluster }

func (h headless) Nodes() []clusters.Node {
	all := slices.Clone(h.Cluster.Nodes())
	for i, n := range all {
		if n.Role() == clusters.Simulated {
			all[i] = unknown{n, h}
		}
	}
	return all
}

type unknown struct {
	clusters.Node
	of headless
}

func (u unknown) State(ctx context.Context) (clusters.NodeState, error) {
	for _, n := range u.of.Cluster.Nodes() {
		if state, err := n.State(ctx); n.Role() == clusters.ControlPlane && (err != nil || state != clusters.Running) {
			return "", errors.New("the API server is away")
		}
	}
	return u.Node.State(ctx)
}

// A lost control plane is started before anybody asks how the simulated nodes are.
func TestSimulatedNodesAreAskedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := headless{clustertest.New("demo", clusters.Spec{Zones: []string{"a"}, SimulatedNodes: 3})}
		lost := 0
		for _, m := range fake.Machines {
			if m.Role() == clusters.ControlPlane || m.Role() == clusters.Simulated && lost < 2 {
				if m.Role() == clusters.Simulated {
					lost++
				}
				m.SetState(clusters.Exited)
			}
		}
		var said []string
		if err := Cluster(t.Context(), fake, func(what string) { said = append(said, what) }); err != nil {
			t.Fatal(err)
		}
		if len(said) != 2 || said[1] != "started 2 simulated nodes" {
			t.Errorf("it says %q", said)
		}
	})
}
