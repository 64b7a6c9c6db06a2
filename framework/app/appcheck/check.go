package appcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Finding is something that cannot work.
type Finding struct {
	Object app.Manifest
	Path   []any // of the field, with keys of maps and indexes of lists
	Cause  string
	Next   string // what the user can do
	// Stops says that the application cannot start with it. Without it, the test runs, and the finding is noted.
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

// Err is an error that lists all that keeps the application from starting; nil: there is nothing.
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
	c.findMakers()
	return c
}

// Check looks at an application on a planned cluster.
func Check(a app.App, plan Plan) Findings {
	c := newChecker(a, plan)
	for i, m := range c.objects {
		c.kind(m)
		c.name(m)
		c.service(m)
		c.webhooks(m)
		c.volume(m)
		c.host(m)
		c.autoscaler(m)
		c.paused(m)
		for _, p := range c.pods[i] {
			c.selector(p)
			c.each(p)
			c.references(p)
			c.volumes(p)
			c.placement(p)
			c.requests(p)
		}
	}
	c.claims()
	c.sum()
	return slices.Clip(c.found)
}

func (c *checker) stops(m app.Manifest, path []any, next, cause string, args ...any) {
	c.found = append(c.found, Finding{m, path, said(cause, args), next, true})
}

func (c *checker) notes(m app.Manifest, path []any, next, cause string, args ...any) {
	c.found = append(c.found, Finding{m, path, said(cause, args), next, false})
}

// said is a cause, without what stands in the place of a name and is none.
func said(cause string, args []any) string {
	for i, arg := range args {
		if name, is := arg.(string); is && !app.IsName(name) {
			args[i] = "..."
		}
	}
	return fmt.Sprintf(cause, args...)
}

// ours is a text that is not from a manifest.
type ours string

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
