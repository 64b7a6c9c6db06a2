package run

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/internal/errtest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
	"github.com/holdfast-ha/holdfast/workloads"
)

// balanced is quiet with a Descheduler beside it, and a compiler that has its program.
func balanced(t *testing.T) (*fixture, scenario.Spec) {
	c, s := newFixture(t), quiet()
	s.Addons = []workloads.Addon{workloads.Descheduler{}}
	s.Promises = []invariant.Invariant{invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1}} // there are two Deployments
	executable := program(t)
	c.settings.Compile = func(_ context.Context, p workloads.Program) (string, error) {
		c.did = append(c.did, "compile "+p.Module+" "+p.Version)
		return executable, nil
	}
	return c, s
}

// outside lists what there is of roles of the whole cluster.
func outside(home *clustertest.Cluster) (found []string) {
	for _, kind := range []string{"clusterroles", "clusterrolebindings"} {
		for _, o := range home.List("/apis/rbac.authorization.k8s.io/v1/" + kind) {
			found = append(found, kind+" "+o.GetName())
		}
	}
	return found
}

// TestAddonsComeAndGo: an add-on is compiled, runs the image of its own program while the scenario is played, and leaves
// nothing behind, also of what does not go with the namespace.
func TestAddonsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := balanced(t)
		var played *clustertest.Cluster
		var during []string
		var image string
		c.onCreate = func(home *clustertest.Cluster) {
			played = home
			home.Refuse = func(method, at string) *apierrors.StatusError {
				if d := home.Get("/apis/apps/v1/namespaces/hf-chaos-quiet/deployments/descheduler"); d != nil && image == "" {
					image = podOf([]workloads.Object{d}, "descheduler").Containers[0].Image
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
		if i := played.Loaded(); len(i) != 2 || i[0].Role != "" || i[1].Role != clusters.LoadNode || i[1].Ref != image {
			t.Errorf("loaded %+v, want ours into every node and the add-on's into the load node", i)
		}
		if left := outside(played); left != nil {
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

// TestAddonsThatCannotBeHad: whatever is missing is named, and the scenario is not played without it.
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
			c.onCreate = func(home *clustertest.Cluster) { home.Relabel("load", "none") }
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
				if left := outside(c.created[0]); left != nil {
					t.Errorf("left behind: %q", left)
				}
			})
		})
	}
}

// TestWhatLiesThereAlready: what a killed run of ours left outside of its namespace is replaced, and what is somebody
// else's is left as it is.
func TestWhatLiesThereAlready(t *testing.T) {
	for owner, want := range map[string]string{
		"holdfast": "", "somebody": "create ClusterRole hf-chaos-quiet-descheduler: it exists already, and holdfast did not create it",
	} {
		t.Run(owner, func(t *testing.T) {
			s := quiet()
			env, home, _ := newEnvironment(t, s)
			env.addons = []addonImage{{workloads.Descheduler{}, "i"}}
			old := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
				Name: "hf-chaos-quiet-descheduler", Labels: map[string]string{workloads.LabelPartOf: owner},
			}}
			home.Put("/apis/rbac.authorization.k8s.io/v1/clusterroles", old)
			errtest.Check(t, env.create(t.Context(), workloads.Namespace(env.namespace)), "")
			errtest.Check(t, env.deployAddons(t.Context()), want)
			now := home.Get("/apis/rbac.authorization.k8s.io/v1/clusterroles/hf-chaos-quiet-descheduler").(*rbacv1.ClusterRole)
			if replaced := len(now.Rules) > 0; replaced != (want == "") {
				t.Errorf("replaced: %t", replaced)
			}
			errtest.Check(t, env.removeOutside(t.Context()), "")
			var left []string
			if want != "" {
				left = []string{"clusterroles hf-chaos-quiet-descheduler"}
			}
			if diff := cmp.Diff(left, outside(home)); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAddonsHaveTheirOwnImage, and the backend keeps ours.
func TestAddonsHaveTheirOwnImage(t *testing.T) {
	env, home, _ := newEnvironment(t, quiet())
	env.addons = []addonImage{{workloads.Descheduler{}, "another"}}
	errtest.Check(t, env.create(t.Context(), workloads.Namespace(env.namespace)), "")
	errtest.Check(t, env.createWorkload(t.Context()), "")
	images := map[string]string{}
	for _, o := range home.List("/api/v1/namespaces/hf-chaos-quiet/pods") {
		p := o.(*corev1.Pod)
		images[p.Labels[workloads.LabelName]] = p.Spec.Containers[0].Image
	}
	if diff := cmp.Diff(map[string]string{"backend": "i", "descheduler": "another"}, images); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.Contains(outside(home), "clusterroles hf-chaos-quiet-descheduler") {
		t.Errorf("outside: %q", outside(home))
	}
}
