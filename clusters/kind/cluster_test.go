package kind

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/holdfast-ha/holdfast/clusters"
)

var testSpec = clusters.Spec{Zones: []string{"a"}}.WithDefaults()

// fakeCluster is a cluster named x with a control plane, a worker and a load node, on a simulated engine.
func fakeCluster(t *testing.T, e *fakeEngine) *Cluster {
	t.Helper()
	r := clusterRecord{Spec: testSpec, Image: "node:v1.37.0", Made: time.Unix(0, 0).UTC()}
	if err := reserve(t.Context(), e, "x", r); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{e: e, log: slog.Default(), name: "x", record: r, client: fake.NewClientset(), within: time.Minute}
	for _, m := range members("x", testSpec) {
		e.Run(m.name)
		n := &Node{cluster: c, member: m}
		if err := n.learnAddress(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, n)
	}
	e.Exec = func(string, []string) ([]byte, error) { return nil, errors.New("no answer") }
	e.Calls = nil
	return c
}
