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

// simulation is a cluster with one simulated node, and in place of kwok what renews its lease and reports it Ready.
func simulation(t *testing.T, works bool) *Node {
	t.Helper()
	return skewed(t, works, 0)
}

// skewed is a simulation whose kwok has a clock that is ahead of this process's by a skew.
func skewed(t *testing.T, works bool, skew time.Duration) *Node {
	t.Helper()
	node, lease := object(0, clusters.Spec{}), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: nodeName(0), Namespace: corev1.NamespaceNodeLease}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(skew)}
	client := fake.NewClientset(node, lease)
	c := &Cluster{client: client, pulses: &pulses{client: client}, times: clusters.Lab.Timings()}
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

// A node is silent once its lease was seen to stay as it is for as long, whatever the clock of kwok shows.
func TestAnotherClock(t *testing.T) {
	for _, skew := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			n := skewed(t, true, skew)
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
			if state, err := n.State(t.Context()); err != nil || state != clusters.Exited {
				t.Errorf("skew %s, killed: %s, %v", skew, state, err)
			}
			if err := n.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			state, err := n.State(t.Context())
			if silent, also := n.Silent(t.Context()); err != nil || also != nil || silent || state != clusters.Running {
				t.Errorf("skew %s, started again: %s, silent %t, %v, %v", skew, state, silent, err, also)
			}
		})
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
