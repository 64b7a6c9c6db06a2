package kwok

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/clusters"
)

// A lease that is not renewed must be noticed by us before Kubernetes acts on it, and one that is renewed must never look overdue.
func TestLeases(t *testing.T) {
	for profile, want := range map[clusters.ProfileName]time.Duration{clusters.Lab: 12 * time.Second, clusters.Stock: 80 * time.Second} {
		times := profile.Timings()
		if got := leaseDuration(times); got != want {
			t.Errorf("%s: a lease lasts %s, want %s", profile, got, want)
		}
		renewal := leaseDuration(times) / renewalsPerLease
		if 2*renewal > times.NodeMonitorGrace {
			t.Errorf("%s: one late renewal after %s loses the node, whose grace is %s", profile, renewal, times.NodeMonitorGrace)
		}
		if late := silentAfter(times); late <= renewal || late >= times.NodeMonitorGrace {
			t.Errorf("%s: silent after %s, with a renewal every %s and a grace of %s", profile, late, renewal, times.NodeMonitorGrace)
		}
	}
}

// kwok ignores a document that it cannot read. Each must be what it is meant to be.
func TestStages(t *testing.T) {
	var names []string
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(stages), 4096)
	for {
		var d struct {
			Kind     string
			Metadata metav1.ObjectMeta
			Options  map[string]any
			Spec     struct {
				ResourceRef struct{ Kind string }
				Next        map[string]any
			}
		}
		if err := documents.Decode(&d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if d.Kind == "KwokConfiguration" {
			if n, _ := d.Options["podsOnNodeSyncParallelism"].(float64); n < 2 {
				t.Errorf("%v workers look at the pods of nodes that come back, want more than one", d.Options["podsOnNodeSyncParallelism"])
			}
			continue
		}
		if d.Kind != "Stage" || len(d.Spec.Next) != 1 {
			t.Errorf("%s %s has %d effects, want a Stage with one", d.Kind, d.Metadata.Name, len(d.Spec.Next))
		}
		names = append(names, d.Spec.ResourceRef.Kind+" "+d.Metadata.Name)
	}
	if want := []string{"Node node-ready", "Pod pod-ready", "Pod pod-back", "Pod pod-ends"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// controlPlane is a real node on the kernel of a boot.
func controlPlane(name, boot string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{clusters.LabelRole: string(clusters.ControlPlane)}},
		Status:     corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{BootID: boot}},
	}
}

// simulation is a cluster with one simulated node, and in place of kwok what renews its lease and reports it Ready.
func simulation(t *testing.T, works bool) *Node {
	t.Helper()
	return skewed(t, works, "boot", 0)
}

// skewed is a simulation whose kwok runs on the kernel of a boot, where this process runs on that of "boot", and whose clock is ahead of this
// process's by a skew.
func skewed(t *testing.T, works bool, boot string, skew time.Duration) *Node {
	t.Helper()
	node, lease := object(0, clusters.Spec{}), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: nodeName(0), Namespace: corev1.NamespaceNodeLease}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(skew)}
	client := fake.NewClientset(node, lease, controlPlane("control-plane", boot))
	c := &Cluster{client: client, pulses: &pulses{client: client}, clock: clock{client: client, own: "boot"}, times: clusters.Lab.Timings()}
	c.nodes = []clusters.Node{&Node{cluster: c, name: nodeName(0), zone: zoneOf(0)}}
	client.PrependReactor("list", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
		kept, err := client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", nodeName(0))
		if err != nil {
			return true, nil, err
		}
		if works && kept.(*corev1.Node).Labels[LabelKubelet] == kubeletOn {
			lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(skew)}
		}
		return true, &coordinationv1.LeaseList{Items: []coordinationv1.Lease{*lease}}, nil
	})
	return c.nodes[0].(*Node)
}

// A node that is killed is lost once its lease is overdue, and not before.
func TestKilledAndStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simulation(t, true)
		began := time.Now()
		if err := n.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < silentAfter(n.cluster.times) {
			t.Errorf("it was dead after %s, and its lease was overdue only after %s", took, silentAfter(n.cluster.times))
		}
		if state, err := n.State(t.Context()); err != nil || state != clusters.Exited {
			t.Errorf("state %s, %v", state, err)
		}
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		state, err := n.State(t.Context())
		silent, also := n.Silent(t.Context())
		if err != nil || also != nil || state != clusters.Running || silent {
			t.Errorf("state %s, silent %t, %v, %v", state, silent, err, also)
		}
	})
}

// Where kwok goes by another clock, a node is silent once its lease was seen to stay as it is for as long, whatever that clock shows.
func TestAnotherClock(t *testing.T) {
	for _, skew := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			n := skewed(t, true, "another boot", skew)
			for _, later := range []time.Duration{0, time.Minute} { // a lease that was renewed meanwhile is not overdue, however long ago the last look was; the clock is the test's
				time.Sleep(later)
				if silent, err := n.Silent(t.Context()); err != nil || silent {
					t.Errorf("skew %s, a node that lives: silent %t, %v", skew, silent, err)
				}
			}
			began := time.Now()
			if err := n.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took, least := time.Since(began), silentAfter(n.cluster.times); took < least || took > least+2*time.Second {
				t.Errorf("skew %s: it was dead after %s, want %s or little more", skew, took, least)
			}
			if err := n.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if silent, err := n.Silent(t.Context()); err != nil || silent {
				t.Errorf("skew %s, started again: silent %t, %v", skew, silent, err)
			}
		})
	}
}

func TestSharedClock(t *testing.T) {
	for name, test := range map[string]struct {
		own   string
		nodes []runtime.Object
		want  bool
	}{
		"one kernel":            {"boot", []runtime.Object{controlPlane("a", "boot"), controlPlane("b", "boot")}, true},
		"another kernel":        {"boot", []runtime.Object{controlPlane("a", "another boot")}, false},
		"two kernels":           {"boot", []runtime.Object{controlPlane("a", "boot"), controlPlane("b", "another boot")}, false},
		"a node does not tell":  {"boot", []runtime.Object{controlPlane("a", "")}, false},
		"no control plane":      {"boot", nil, false},
		"another system":        {"", []runtime.Object{controlPlane("a", "")}, false},
		"a simulated node only": {"boot", []runtime.Object{object(0, clusters.Spec{})}, false},
	} {
		client := fake.NewClientset(test.nodes...)
		c := &clock{client: client, own: test.own}
		for range 2 {
			if got, err := c.shared(t.Context()); err != nil || got != test.want {
				t.Errorf("%s: %t, %v, want %t", name, got, err, test.want)
			}
		}
		if asked := len(client.Actions()); asked > 1 {
			t.Errorf("%s: asked %d times", name, asked)
		}
	}
}

// Without kwok, a node does not come back, whatever its labels say.
func TestNothingRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simulation(t, false)
		if err := n.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err := n.Start(t.Context())
		if took, least := time.Since(began), leaseDuration(n.cluster.times)+returnLimit; took < least {
			t.Errorf("given up after %s, want %s: kwok takes a lease over once it has expired", took, least)
		}
		if err == nil || !strings.Contains(err.Error(), "its lease was not renewed since the start") {
			t.Errorf("got %v", err)
		}
	})
}
