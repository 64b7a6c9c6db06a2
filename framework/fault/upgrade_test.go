package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"

	"github.com/holdfast-ha/holdfast/clusters"
)

const (
	oldVersion = "v1.36.3"
	newVersion = "v1.37.0"
)

// ladder is a cluster that can be brought to a newer version, and whose nodes then say so.
type ladder struct {
	fleet
	w       *world
	at      string
	lies    bool             // kubelets are replaced, and say what they said before
	fails   map[string]error // what is done to a node, by "kubeadm NODE" and "kubelet NODE"
	closed  []string         // which nodes were cordoned when kubeadm ran, a word a node
	proven  bool
	fetched int
}

// onLadder is a world with a control plane and a load node beside its workers.
func onLadder(t *testing.T) (*ladder, Target) {
	w := newWorld(6, "w1", "w2", "w3")
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	for name, role := range map[string]clusters.Role{"cp": clusters.ControlPlane, "load": clusters.LoadNode} {
		w.nodes = append(w.nodes, &machine{name: name, role: role, state: clusters.Running})
		must(t, w.client.Tracker().Create(nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "not-for-you"}}},
		}, ""))
	}
	l := &ladder{fleet: fleet{nodes: w.nodes}, w: w, at: oldVersion, fails: map[string]error{}}
	for _, n := range w.nodes {
		l.says(t, n.Name(), oldVersion)
	}
	l.serves(oldVersion)
	target := w.target()
	target.Cluster = l
	return l, target
}

func (l *ladder) Spec() clusters.Spec { return clusters.Spec{Kubernetes: l.at} }

func (l *ladder) Fetch(_ context.Context, to string) (clusters.Release, error) {
	l.fetched++
	return clusters.Release{Kubernetes: to}, clusters.CheckUpgrade(l.at, to)
}

func (l *ladder) UpgradeNode(_ context.Context, n clusters.Node, to clusters.Release) error {
	l.closed = append(l.closed, fmt.Sprintf("%s:%s", n.Name(), strings.Join(l.w.cordoned(), ",")))
	if n.Role() == clusters.ControlPlane {
		l.serves(to.Kubernetes)
	}
	return l.fails["kubeadm "+n.Name()]
}

func (l *ladder) SwapKubelet(_ context.Context, n clusters.Node, to clusters.Release) error {
	if !l.lies {
		l.says(nil, n.Name(), to.Kubernetes)
	}
	return l.fails["kubelet "+n.Name()]
}

func (l *ladder) Upgraded(_ context.Context, to clusters.Release) error {
	l.at, l.proven = to.Kubernetes, true
	return nil
}

// serves has the API server be of a version.
func (l *ladder) serves(v string) {
	l.w.client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: v}
}

// says has a kubelet be of a version. The node's other half, whether it is cordoned, stays.
func (l *ladder) says(_ *testing.T, node, v string) {
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	o, err := l.w.client.Tracker().Get(nodes, "", node)
	if err != nil {
		panic(err)
	}
	n := o.(*corev1.Node).DeepCopy()
	n.Status.NodeInfo.KubeletVersion = v
	if err := l.w.client.Tracker().Update(nodes, n, ""); err != nil {
		panic(err)
	}
}

func TestUpgradeGoesNodeByNode(t *testing.T) {
	l, target := onLadder(t)
	var arranged []string
	arrange := func(what string) Arrange {
		return func(context.Context, Target) (func(context.Context) error, error) {
			l.w.steps = append(l.w.steps, what)
			return func(context.Context) error {
				arranged = append(arranged, "undo: "+what)
				return nil
			}, nil
		}
	}
	first, err := inject(t.Context(), UpgradeControlPlane{To: newVersion, After: arrange("after kubeadm")}, target)
	must(t, err)
	want := []string{"cp: kubeadm upgrade", "after kubeadm", "cp: cordon", "cp: new kubelet, Ready", "cp: uncordon"}
	if diff := cmp.Diff(want, l.w.steps); diff != "" {
		t.Errorf("control plane (-want +got):\n%s", diff)
	}
	l.w.steps = nil
	second, err := inject(t.Context(), UpgradeWorkers{To: newVersion, Before: arrange("before the first drain")}, target)
	must(t, err)
	want = []string{"before the first drain"}
	for _, n := range []string{"w1", "w2", "w3", "load"} {
		want = append(want, n+": cordon")
		if n != "load" {
			want = append(want, n+": drain")
		}
		want = append(want, n+": kubeadm upgrade", n+": new kubelet, Ready", n+": uncordon", n+": workload settled")
	}
	if diff := cmp.Diff(want, l.w.steps); diff != "" {
		t.Errorf("workers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cp:", "w1:w1", "w2:w2", "w3:w3", "load:load"}, l.closed); diff != "" {
		t.Errorf("kubeadm ran on a node, and closed were (-want +got):\n%s", diff)
	}
	if !l.proven || l.at != newVersion {
		t.Error("nobody proved the cluster at its new version")
	}
	if left := 1000 - l.w.evictable; left == 0 {
		t.Error("nothing was evicted, so no budget was asked")
	}
	must(t, second(t.Context()))
	must(t, first(t.Context()))
	if diff := cmp.Diff([]string{"undo: before the first drain", "undo: after kubeadm"}, arranged); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantSeen := []string{
		"nodes=[] pods=0 the API server says v1.37.0, and so do the kubelets of cp",
		"nodes=[] pods=", // as many as lay on the workers by then
	}
	for i, want := range wantSeen {
		if i >= len(l.w.seen) || !strings.HasPrefix(l.w.seen[i], want) {
			t.Errorf("seen %q, want %q", l.w.seen, want)
		}
	}
	if len(l.w.healed) != 2 || !strings.Contains(l.w.healed[0], "there is no way back") {
		t.Errorf("healed %q", l.w.healed)
	}
}

// A step that fails is named, nothing comes after it, and no node stays closed.
func TestUpgradeStopsWhereItFails(t *testing.T) {
	for name, tt := range map[string]struct {
		fault Fault
		mar   func(*ladder)
		want  string
		last  string
	}{
		"kubeadm on the control plane": {
			fault: UpgradeControlPlane{To: newVersion},
			mar:   func(l *ladder) { l.fails["kubeadm cp"] = errors.New("etcd does not come back") },
			want:  "etcd does not come back", last: "cp: kubeadm upgrade",
		},
		"a worker's kubelet": {
			fault: UpgradeWorkers{To: newVersion},
			mar:   func(l *ladder) { l.fails["kubelet w2"] = errors.New("not Ready") },
			want:  "not Ready", last: "w2: new kubelet, Ready",
		},
		"a kubelet that is still the old one": {
			fault: UpgradeWorkers{To: newVersion},
			mar:   func(l *ladder) { l.lies = true },
			want:  "see the upgrade to v1.37.0: the kubelet of w1 says v1.36.3", last: "load: workload settled",
		},
		"two minors": {
			fault: UpgradeControlPlane{To: "v1.38.0"}, mar: func(*ladder) {},
			want: "that skips v1.37",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, target := onLadder(t)
			l.serves(newVersion)
			tt.mar(l)
			heal, err := inject(t.Context(), tt.fault, target)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %s", err, tt.want)
			}
			if last := append([]string{""}, l.w.steps...); last[len(last)-1] != tt.last {
				t.Errorf("the last step was %q, want %q", last[len(last)-1], tt.last)
			}
			must(t, heal(t.Context()))
			if closed := l.w.cordoned(); len(closed) > 0 {
				t.Errorf("still cordoned: %v", closed)
			}
			if len(l.w.seen) > 0 {
				t.Errorf("it was seen: %q", l.w.seen)
			}
		})
	}
}

// What takes the machine's time is fetched before the load flows; a cluster of somebody's who cannot upgrade is no reason to begin.
func TestUpgradeIsPrepared(t *testing.T) {
	for _, f := range []Prepared{UpgradeControlPlane{To: newVersion}, UpgradeWorkers{To: newVersion}} {
		l, target := onLadder(t)
		must(t, f.Prepare(t.Context(), target))
		if l.fetched != 1 || len(l.w.steps) > 0 {
			t.Errorf("%s: fetched %d times, and did %v", f, l.fetched, l.w.steps)
		}
		target.Cluster = l.fleet
		if err := f.Prepare(t.Context(), target); err == nil || !strings.Contains(err.Error(), "upgrade cluster fleet: its provider cannot") {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// What somebody else has closed is neither upgraded nor opened.
func TestUpgradeOfANodeThatIsClosed(t *testing.T) {
	l, target := onLadder(t)
	l.serves(newVersion)
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	o, err := l.w.client.Tracker().Get(nodes, "", "w2")
	must(t, err)
	n := o.(*corev1.Node).DeepCopy()
	n.Spec.Unschedulable = true
	must(t, l.w.client.Tracker().Update(nodes, n, ""))
	heal, err := inject(t.Context(), UpgradeWorkers{To: newVersion}, target)
	if err == nil || !strings.Contains(err.Error(), "cordon w2: node is already cordoned, and not by holdfast") {
		t.Errorf("got %v", err)
	}
	must(t, heal(t.Context()))
	if diff := cmp.Diff([]string{"w2"}, l.w.cordoned()); diff != "" {
		t.Errorf("closed in the end (-want +got):\n%s", diff)
	}
}
