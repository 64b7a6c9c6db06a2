package apptest

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Practice is a good practice in the manifests of a workload.
type Practice struct {
	Name    string // "prestop"
	Removed string // in words that complete "without ..."
	Place   string // where it is written: "k8s/web.yaml:31"
	Fault   string // the one of Faults that it is for
	// without is the application without it.
	without func() (app.App, error)
}

// field is a practice that is a field of the workload's own manifest.
type field struct {
	name, fault string
	words       string
	path        []string // below the object, or below each container
	// set replaces the field; nil: it is removed.
	set any
}

// The fields that carry availability. A practice is tried under the fault that shows most clearly whether it is missing.
var (
	ofContainers = []field{
		{name: "prestop", fault: "rollout", words: "the preStop hook of container %s", path: []string{"lifecycle", "preStop"}},
		{name: "readiness", fault: "rollout", words: "the readiness probe of container %s", path: []string{"readinessProbe"}},
		{name: "liveness", fault: "rollout", words: "the liveness probe of container %s", path: []string{"livenessProbe"}},
	}
	ofObjects = []field{
		{name: "surge", fault: "rollout", words: "its rolling update strategy", path: []string{"spec", "strategy"}},
		{name: "grace", fault: "rollout", words: "its grace period (1 s instead)", path: []string{"spec", "template", "spec", "terminationGracePeriodSeconds"}, set: int64(1)},
		{name: "min-ready", fault: "rollout", words: "minReadySeconds", path: []string{"spec", "minReadySeconds"}},
		{name: "spread", fault: "drain", words: "its topology spread constraints", path: []string{"spec", "template", "spec", "topologySpreadConstraints"}},
		{name: "affinity", fault: "drain", words: "its affinity", path: []string{"spec", "template", "spec", "affinity"}},
		{name: "replicas", fault: "drain", words: "its replicas (1 instead)", path: []string{"spec", "replicas"}, set: int64(1)},
	}
)

// Practices are the practices in a workload's manifests, in the order in which they are tried.
func Practices(a app.App, w app.Workload) (list []Practice) {
	at := manifestOf(a, w)
	if at < 0 {
		return nil
	}
	own := a.Manifests[at]
	containers, _, _ := unstructured.NestedSlice(own.Object.Object, "spec", "template", "spec", "containers")
	for i, one := range containers {
		c, _ := one.(map[string]any)
		for _, f := range ofContainers {
			if _, has, _ := unstructured.NestedFieldNoCopy(c, f.path...); !has {
				continue
			}
			name := f.name
			if len(containers) > 1 {
				name += fmt.Sprintf("-%v", c["name"])
			}
			list = append(list, Practice{
				Name: name, Removed: fmt.Sprintf(f.words, c["name"]), Fault: f.fault,
				Place: own.Place(append([]any{"spec", "template", "spec", "containers", i}, steps(f.path)...)...),
				without: func() (app.App, error) {
					return a.Without(at, func(o map[string]any) bool { return f.fromContainer(o, i) })
				},
			})
		}
	}
	for _, f := range ofObjects {
		value, has, _ := unstructured.NestedFieldNoCopy(own.Object.Object, f.path...)
		if !has || f.set != nil && fmt.Sprint(value) == fmt.Sprint(f.set) {
			continue
		}
		list = append(list, Practice{
			Name: f.name, Removed: f.words, Fault: f.fault, Place: own.Place(steps(f.path)...),
			without: func() (app.App, error) { return a.Without(at, f.fromObject) },
		})
	}
	return append(list, budgets(a, w)...)
}

// manifestOf is the index of a workload's manifest; negative: there is none.
func manifestOf(a app.App, w app.Workload) int {
	return slices.IndexFunc(a.Manifests, func(m app.Manifest) bool {
		return m.Object.GetKind() == w.Kind && m.Object.GetName() == w.Name && m.Object.GetNamespace() == a.Namespace
	})
}

// budgets are the disruption budgets that select the workload's pods.
func budgets(a app.App, w app.Workload) (list []Practice) {
	for i, m := range a.Manifests {
		if m.Object.GetKind() != "PodDisruptionBudget" || m.Object.GetNamespace() != a.Namespace {
			continue
		}
		match, _, _ := unstructured.NestedStringMap(m.Object.Object, "spec", "selector", "matchLabels")
		if len(match) == 0 || !labels.SelectorFromSet(match).Matches(labels.Set(w.Template.Labels)) {
			continue
		}
		list = append(list, Practice{
			Name: "budget", Removed: "disruption budget " + m.Object.GetName(), Fault: "drain", Place: m.Place("spec"),
			without: func() (app.App, error) { return a.Without(i, func(map[string]any) bool { return false }) },
		})
	}
	return list
}

func (f field) fromObject(o map[string]any) bool {
	if f.set == nil {
		unstructured.RemoveNestedField(o, f.path...)
		return true
	}
	_ = unstructured.SetNestedField(o, f.set, f.path...) // the path exists
	return true
}

func (f field) fromContainer(o map[string]any, i int) bool {
	path := []string{"spec", "template", "spec", "containers"}
	containers, _, _ := unstructured.NestedSlice(o, path...)
	if c, is := containers[i].(map[string]any); is {
		unstructured.RemoveNestedField(c, f.path...)
	}
	_ = unstructured.SetNestedSlice(o, containers, path...)
	return true
}

func steps(path []string) (all []any) {
	for _, step := range path {
		all = append(all, step)
	}
	return all
}
