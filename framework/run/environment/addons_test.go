package environment

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/workloads"
)

// outside lists what there is of roles of the whole cluster.
func outside(fake *clustertest.Cluster) (found []string) {
	for _, kind := range []string{"clusterroles", "clusterrolebindings"} {
		for _, o := range fake.List("/apis/rbac.authorization.k8s.io/v1/" + kind) {
			found = append(found, kind+" "+o.GetName())
		}
	}
	return found
}

// TestWhatLiesThereAlready: what a killed run of ours left outside of its namespace is replaced, and what is somebody
// else's is left as it is.
func TestWhatLiesThereAlready(t *testing.T) {
	for owner, want := range map[string]string{
		"holdfast": "", "somebody": "create ClusterRole hf-chaos-quiet-descheduler: it exists already, and holdfast did not create it",
	} {
		t.Run(owner, func(t *testing.T) {
			s := quiet()
			env, fake, _ := newEnvironment(t, s)
			env.addons = []addonImage{{workloads.Descheduler{}, "i"}}
			old := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
				Name: "hf-chaos-quiet-descheduler", Labels: map[string]string{workloads.LabelPartOf: owner},
			}}
			fake.Put("/apis/rbac.authorization.k8s.io/v1/clusterroles", old)
			errtest.Check(t, env.create(t.Context(), workloads.Namespace(env.namespace)), "")
			errtest.Check(t, env.deployAddons(t.Context()), want)
			now := fake.Get("/apis/rbac.authorization.k8s.io/v1/clusterroles/hf-chaos-quiet-descheduler").(*rbacv1.ClusterRole)
			if replaced := len(now.Rules) > 0; replaced != (want == "") {
				t.Errorf("replaced: %t", replaced)
			}
			errtest.Check(t, env.removeOutside(t.Context()), "")
			var left []string
			if want != "" {
				left = []string{"clusterroles hf-chaos-quiet-descheduler"}
			}
			if diff := cmp.Diff(left, outside(fake)); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAddonsHaveTheirOwnImage, and the backend keeps ours.
func TestAddonsHaveTheirOwnImage(t *testing.T) {
	env, fake, _ := newEnvironment(t, quiet())
	env.addons = []addonImage{{workloads.Descheduler{}, "another"}}
	errtest.Check(t, env.create(t.Context(), workloads.Namespace(env.namespace)), "")
	errtest.Check(t, env.createWorkload(t.Context()), "")
	images := map[string]string{}
	for _, o := range fake.List("/api/v1/namespaces/hf-chaos-quiet/pods") {
		p := o.(*corev1.Pod)
		images[p.Labels[workloads.LabelName]] = p.Spec.Containers[0].Image
	}
	if diff := cmp.Diff(map[string]string{"backend": "i", "descheduler": "another"}, images); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.Contains(outside(fake), "clusterroles hf-chaos-quiet-descheduler") {
		t.Errorf("outside: %q", outside(fake))
	}
}
