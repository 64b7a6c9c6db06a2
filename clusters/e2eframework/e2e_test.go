//go:build e2e

package e2eframework

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"sigs.k8s.io/e2e-framework/support"

	"github.com/holdfast-ha/holdfast/clusters"
)

// TestE2EFramework creates a real cluster: go test -tags e2e -run E2E -timeout 10m ./clusters/e2eframework
func TestE2EFramework(t *testing.T) {
	ctx, name := t.Context(), fmt.Sprintf("frame-%d", os.Getpid())
	p := NewProvider()
	p.SetDefaults().WithName(name).WithOpts(WithSpec(clusters.Spec{Zones: []string{"a"}}))
	t.Cleanup(func() {
		if err := p.Destroy(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	if _, err := p.Create(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitForControlPlane(ctx, nil); err != nil {
		t.Fatal(err)
	}
	worker := func() support.Node {
		nodes, err := p.ListNode(ctx)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(nodes, func(n support.Node) bool { return n.Role == string(clusters.Worker) })
		if at < 0 || nodes[at].IP == nil {
			t.Fatalf("nodes %+v", nodes)
		}
		return nodes[at]
	}
	node := worker()
	for _, step := range []struct {
		do   func(context.Context, *support.Node, ...string) error
		want clusters.NodeState
	}{{p.StopNode, clusters.Exited}, {p.StartNode, clusters.Running}} {
		if err := step.do(ctx, &node); err != nil {
			t.Fatal(err)
		}
		if got := worker(); got.State != string(step.want) || !got.IP.Equal(node.IP) {
			t.Errorf("the worker is %+v, want it %s and at %s", got, step.want, node.IP)
		}
	}
}
