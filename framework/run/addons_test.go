package run

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// balanced is quiet with a Descheduler beside it, and a compiler that has its program.
func balanced(t *testing.T) (*fixture, scenario.Spec) {
	c, s := newFixture(t), quiet()
	s.Addons = []workloads.Addon{workloads.Descheduler{}}
	s.Promises = []invariant.Invariant{invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1}} // there are two Deployments
	executable := program(t)
	c.settings.Compile = func(_ context.Context, p workloads.Program) (string, error) {
		c.note("compile " + p.Module + " " + p.Version)
		return executable, nil
	}
	return c, s
}

// Collections of what an add-on creates outside of its namespace.
const (
	clusterRoles        = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	clusterRoleBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
)

// TestAddonsComeAndGo: an add-on is compiled, runs the image of its own program while the scenario runs, and leaves
// nothing behind, also of what does not go with the namespace.
func TestAddonsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := balanced(t)
		var cluster *clustertest.Cluster
		var during []string
		var image string
		c.onCreate = func(fake *clustertest.Cluster) {
			cluster = fake
			fake.Refuse = func(method, at string) *apierrors.StatusError {
				if d := fake.Get("/apis/apps/v1/namespaces/hf-chaos-quiet/deployments/descheduler"); d != nil && image == "" {
					image = d.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image
				}
				if method == http.MethodDelete {
					during = append(during, at)
				}
				return nil
			}
		}
		if got := c.one(t.Context(), s); got.err != nil || got.outcome == verdict.Unknown {
			t.Fatalf("got %+v; troubles %q", got, troubles(c.recorded(s)))
		}
		if want := []string{"open", "compile sigs.k8s.io/descheduler v0.36.0"}; len(c.did) < 2 || !strings.HasPrefix(c.did[0], want[0]) || c.did[1] != want[1] {
			t.Errorf("did %q, want %q first", c.did, want)
		}
		if !strings.HasPrefix(image, "holdfast.local/addon/descheduler:") {
			t.Errorf("it ran %q", image)
		}
		if i := cluster.Loaded(); len(i) != 2 || i[0].Role != "" || i[1].Role != clusters.LoadNode || i[1].Ref != image {
			t.Errorf("loaded %+v, want ours into every node and the add-on's into the load node", i)
		}
		if left := append(cluster.List(clusterRoles), cluster.List(clusterRoleBindings)...); left != nil {
			t.Errorf("left behind: %q", left)
		}
		// An API that has lost its server keeps a namespace from going: what lies outside goes first.
		const rbac, namespace = "/apis/rbac.authorization.k8s.io/v1/", "/api/v1/namespaces/hf-chaos-quiet"
		want := []string{rbac + "clusterrolebindings/hf-chaos-quiet-descheduler", rbac + "clusterroles/hf-chaos-quiet-descheduler", namespace}
		at := 0
		for _, path := range during {
			if at < len(want) && path == want[at] {
				at++
			}
		}
		if at != len(want) {
			t.Errorf("deleted %q\nwant among them, in this order, %q", during, want)
		}
	})
}

// TestAddonsThatCannotBeHad: whatever is missing is named, and the scenario is not run without it.
func TestAddonsThatCannotBeHad(t *testing.T) {
	for want, spoil := range map[string]func(*fixture){
		"compile descheduler: this run has no compiler": func(c *fixture) { c.settings.Compile = nil },
		"no compiler for this": func(c *fixture) {
			c.settings.Compile = func(context.Context, workloads.Program) (string, error) {
				return "", errors.New("no compiler for this")
			}
		},
		"build workload image: open /none: no such file": func(c *fixture) {
			c.settings.Compile = func(context.Context, workloads.Program) (string, error) { return "/none", nil }
		},
		"waited 2m0s for add-on descheduler to be ready: last seen 1 pods, 0 available": func(c *fixture) {
			c.onCreate = func(fake *clustertest.Cluster) { fake.Relabel("load", "none") }
		},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := balanced(t)
				spoil(c)
				got := c.one(t.Context(), s)
				if trouble := strings.Join(troubles(c.recorded(s)), "; "); got.outcome != verdict.Unknown || !strings.Contains(trouble, want) {
					t.Errorf("got %+v\ntrouble %s\nwant    %s", got, trouble, want)
				}
				if left := append(c.created[0].List(clusterRoles), c.created[0].List(clusterRoleBindings)...); left != nil {
					t.Errorf("left behind: %q", left)
				}
			})
		})
	}
}
