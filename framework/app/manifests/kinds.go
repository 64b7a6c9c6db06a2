package manifests

import (
	"fmt"
	"slices"

	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// ofServer are the groups of the API server whose Go types are in modules of their own.
var ofServer = []string{"apiextensions.k8s.io", "apiregistration.k8s.io"}

// kind finds an object of a kind that the cluster does not know.
func (c *checker) kind(m app.Manifest) {
	kind := m.Object.GroupVersionKind()
	switch {
	case slices.Contains(ofServer, kind.Group):
	case scheme.Scheme.Recognizes(kind):
		if _, removed, instead := Lifetime(kind); removed != "" && semver.Compare(c.plan.Kubernetes, removed) >= 0 {
			if m.Chart != "" {
				instead += " by a value of the chart, if it has one: Helm tells each chart that it renders without a cluster that the older version is there; " +
					"or render it with 'helm template --dry-run=server' where it is not, and use -f"
			}
			c.stops(m, []any{"apiVersion"}, instead, "Kubernetes %s and newer do not know %s", semver.MajorMinor(removed), kind.GroupVersion())
		}
	case scheme.Scheme.IsGroupRegistered(kind.Group):
		c.stops(m, []any{"kind"}, "correct apiVersion and kind", "there is no kind %s in %s", kind.Kind, kind.GroupVersion())
	case !c.plan.Existing && !c.app.MayHave(kind.GroupKind()):
		c.stops(m, []any{"kind"}, "name the folder with its definition, and with the controller that makes something of it, with --before, "+
			"or, if nothing needs it to serve, leave it out with --without "+kind.Kind, "no CustomResourceDefinition of the manifests defines %s", kind.GroupKind())
	}
}

// Lifetime is the version of Kubernetes in which a kind was introduced, and that in which it was removed, with what to use in its place. Each is
// empty if it is not known, or if the kind was not removed.
func Lifetime(kind schema.GroupVersionKind) (introduced, removed, instead string) {
	o, err := scheme.Scheme.New(kind)
	if err != nil {
		return "", "", ""
	}
	if begins, does := o.(interface{ APILifecycleIntroduced() (major, minor int) }); does {
		major, minor := begins.APILifecycleIntroduced()
		introduced = fmt.Sprintf("v%d.%d.0", major, minor)
	}
	ends, does := o.(interface{ APILifecycleRemoved() (major, minor int) })
	if !does {
		return introduced, "", ""
	}
	major, minor := ends.APILifecycleRemoved()
	instead = "use a version that is served"
	if o, does := o.(interface {
		APILifecycleReplacement() schema.GroupVersionKind
	}); does {
		instead = "use " + o.APILifecycleReplacement().GroupVersion().String()
	}
	return introduced, fmt.Sprintf("v%d.%d.0", major, minor), instead
}

// isCustom reports whether an object is of a kind that a CustomResourceDefinition makes.
func isCustom(m app.Manifest) bool {
	group := m.Object.GroupVersionKind().Group
	return !scheme.Scheme.IsGroupRegistered(group) && !slices.Contains(ofServer, group)
}
