package manifests

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Finding is something that cannot work.
type Finding struct {
	Object app.Manifest
	Path   []any // of the field, with keys of maps and indexes of lists
	Cause  string
	Next   string // what the user can do
	// Stops means that the application cannot start with it. Without it, the test runs, and the finding is noted.
	Stops bool
}

// String is the finding in one line: "Deployment web (k8s/web.yaml:12): spec.template.spec.nodeName: ...: ...".
func (f Finding) String() string {
	where := ""
	if len(f.Path) > 0 {
		where = app.Field(f.Path) + ": "
	}
	return fmt.Sprintf("%s %s (%s): %s%s: %s", f.Object.Object.GetKind(), f.Object.Object.GetName(), f.Object.Place(f.Path...), where, f.Cause, f.Next)
}

// Findings are all findings about an application, in the order of its objects.
type Findings []Finding

// Err is an error that lists all that keeps the application from starting, or nil.
func (all Findings) Err() error {
	var lines []string
	for _, f := range all {
		if f.Stops {
			lines = append(lines, "  "+f.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("the application cannot work on the cluster of the test, for %s:\n%s", prose.Count(len(lines), "reason"), strings.Join(lines, "\n"))
}

// Notes are the findings with which the test runs.
func (all Findings) Notes() (notes []string) {
	for _, f := range all {
		if !f.Stops {
			notes = append(notes, f.String()+".")
		}
	}
	return notes
}

// checker looks at the objects of an application.
type checker struct {
	app     app.App
	objects []app.Manifest
	pods    [][]pods // of each object
	byName  map[[3]string]int
	makers  makers
	plan    Plan
	found   Findings
}

func newChecker(a app.App, plan Plan) *checker {
	c := &checker{app: a, objects: a.All(), byName: map[[3]string]int{}, plan: plan}
	for i, m := range c.objects {
		c.pods = append(c.pods, podsOf(m))
		for _, namespace := range []string{"", m.Object.GetNamespace()} {
			if at := [3]string{m.Object.GetKind(), namespace, m.Object.GetName()}; c.byName[at] == 0 {
				c.byName[at] = i + 1
			}
		}
	}
	c.makers = makersOf(c.objects)
	return c
}

// Check looks at an application on a planned cluster.
func Check(a app.App, plan Plan) Findings {
	c := newChecker(a, plan)
	for i, m := range c.objects {
		c.kind(m)
		c.service(m)
		c.host(m)
		c.autoscaler(m)
		c.paused(m)
		for _, p := range c.pods[i] {
			c.references(p)
			c.drivers(p)
			c.placement(p)
		}
	}
	c.claims()
	return slices.Clip(c.found)
}

func (c *checker) stops(m app.Manifest, path []any, next, cause string, args ...any) {
	c.found = append(c.found, Finding{m, path, causeText(cause, args), next, true})
}

func (c *checker) notes(m app.Manifest, path []any, next, cause string, args ...any) {
	c.found = append(c.found, Finding{m, path, causeText(cause, args), next, false})
}

// causeText is a cause. What stands in the place of a name and is not a name may be a secret, and is left out.
func causeText(cause string, args []any) string {
	for i, arg := range args {
		if name, is := arg.(string); is && !app.IsName(name) {
			args[i] = "..."
		}
	}
	return fmt.Sprintf(cause, args...)
}

// object is the application's object of a kind, in a namespace unless it has none.
func (c *checker) object(kind, namespace, name string) (app.Manifest, bool) {
	i := c.byName[[3]string{kind, namespace, name}]
	if i == 0 {
		return app.Manifest{}, false
	}
	return c.objects[i-1], true
}

// below is a path with further steps.
func below(path []any, steps ...any) []any { return append(slices.Clip(path), steps...) }

// pods are the pods of one object.
type pods struct {
	app.Manifest
	spec corev1.PodSpec
	path []any // of the spec
}

// podsOf are the pods of an object, if it has pods and its spec is one that Kubernetes knows.
func podsOf(m app.Manifest) []pods {
	spec, steps := m.PodSpec()
	if spec == nil {
		return nil
	}
	p := pods{Manifest: m}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &p.spec) != nil {
		return nil
	}
	for _, step := range steps {
		p.path = append(p.path, step)
	}
	return []pods{p}
}

// container is a container with its path.
type container struct {
	corev1.Container
	path []any
}

// containers are all containers of the pods.
func (p pods) containers() (all []container) {
	for i, one := range p.spec.InitContainers {
		all = append(all, container{one, below(p.path, "initContainers", i)})
	}
	for i, one := range p.spec.Containers {
		all = append(all, container{one, below(p.path, "containers", i)})
	}
	return all
}

// service finds a Service that leads out of the cluster, and what of one that is asked the requests do not meet.
func (c *checker) service(m app.Manifest) {
	if m.Object.GroupVersionKind().GroupKind().String() != "Service" {
		return
	}
	c.traffic(m)
	host, _, _ := unstructured.NestedString(m.Object.Object, "spec", "externalName")
	kind, _, _ := unstructured.NestedString(m.Object.Object, "spec", "type")
	inside := strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(host, "."), ".cluster.local"), ".svc")
	if kind == string(corev1.ServiceTypeExternalName) && !inside {
		c.notes(m, []any{"spec", "externalName"}, "put something in its place if the application needs it to be ready", "%s is outside of the cluster, and not in reach", host)
	}
}

// autoscaler notes an autoscaler that sees no metrics.
func (c *checker) autoscaler(m app.Manifest) {
	if m.Object.GetKind() == "HorizontalPodAutoscaler" && !c.plan.Existing && !c.app.Serves("metrics.k8s.io") {
		c.notes(m, nil, "add metrics-server with --before to test with it", "no metrics are served, so that it does not scale")
	}
}

// paused finds a Deployment that is paused when it is created: its controller makes no pod.
func (c *checker) paused(m app.Manifest) {
	if is, _, _ := unstructured.NestedBool(m.Object.Object, "spec", "paused"); is && m.Object.GetKind() == "Deployment" {
		c.stops(m, []any{"spec", "paused"}, "take it out for the test", "of a Deployment that is paused when it is created, no pod is made")
	}
}
