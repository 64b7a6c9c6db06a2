package app

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdfast-ha/holdfast/workloads"
)

// Namespace is a namespace that the application needs.
type Namespace struct {
	Name string
	// Labels and Annotations are those of its manifest, if there is one.
	Labels, Annotations map[string]string
}

// place decides in which namespaces the objects are: each in the one that it names, the others in that of the application. `default` is
// what kubectl says where no namespace was chosen. The manifests of namespaces are taken out: namespaces are created first, and marked.
func (a *App) place(manifests []Manifest, fallback string) ([]Manifest, error) {
	if err := a.choose(manifests, fallback); err != nil {
		return nil, err
	}
	needed := map[string]Namespace{}
	var placed []Manifest
	for _, m := range manifests {
		if m.Object.GetKind() == "Namespace" && m.Object.GroupVersionKind().Group == "" {
			name := m.Object.GetName()
			needed[name] = Namespace{name, m.Object.GetLabels(), m.Object.GetAnnotations()}
			a.Taken = append(a.Taken, m)
			continue
		}
		placed = append(placed, m)
	}
	for i := range placed {
		o := &placed[i].Object
		if o.GetName() == "" { // applying needs a name, where creating makes one of as many letters
			o.SetName(fmt.Sprintf("%.58s%05d", o.GetGenerateName(), i))
		}
		if clusterScoped(*o) || a.kinds.defined[o.GroupVersionKind().GroupKind()] {
			o.SetNamespace("") // which charts write, and Kubernetes ignores
			continue
		}
		if unplaced(*o) {
			o.SetNamespace(a.Namespace)
		}
		in := o.GetNamespace()
		if err := allowed(placed[i]); err != nil {
			return nil, err
		}
		if _, known := needed[in]; !known {
			needed[in] = Namespace{Name: in}
		}
	}
	a.Own = needed[a.Namespace]
	a.Own.Name = a.Namespace
	for _, name := range []string{a.Namespace, metav1.NamespaceSystem, metav1.NamespaceDefault} {
		delete(needed, name)
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		a.Namespaces = append(a.Namespaces, needed[name])
	}
	return placed, nil
}

func unplaced(o unstructured.Unstructured) bool {
	return o.GetNamespace() == "" || o.GetNamespace() == metav1.NamespaceDefault
}

// choose decides which namespace is that of the application: the workloads that are tested, their Services and the load are in it. If all
// that name one name the same, workloads among them, it is that, also for workloads that name none.
func (a *App) choose(manifests []Manifest, fallback string) error {
	named := map[string]Manifest{} // the first object in each
	holders := map[string]Manifest{}
	unnamed := false // whether a holder names none
	holds := isWorkload
	if !slices.ContainsFunc(manifests, func(m Manifest) bool { return !m.Before && isWorkload(m.Object) }) {
		holds = tested
	}
	for _, m := range manifests {
		in := m.Object.GetNamespace()
		if m.Before || clusterScoped(m.Object) || in == metav1.NamespaceSystem && !holds(m.Object) {
			continue
		}
		unnamed = unnamed || holds(m.Object) && unplaced(m.Object)
		if unplaced(m.Object) {
			continue
		}
		if _, known := named[in]; !known {
			named[in] = m
		}
		if _, known := holders[in]; !known && holds(m.Object) {
			holders[in] = m
		}
	}
	names := slices.Sorted(maps.Keys(holders))
	_, isNamed := named[fallback]
	switch {
	case len(named) == 1 && (len(holders) == 1 || !unnamed):
		a.Namespace = slices.Collect(maps.Keys(named))[0]
	case isNamed || len(named) == 0:
		a.Namespace = fallback
	case len(names) == 1 && (fallback == "" || !unnamed):
		a.Namespace = names[0]
	case len(names) > 1 && !unnamed:
		return fmt.Errorf("%s is in namespace %s, and %s is in %s: say with --namespace which of them is tested; "+
			"the others are deployed, and nothing is promised of them", holders[names[0]], names[0], holders[names[1]], names[1])
	default:
		a.Namespace = fallback
	}
	a.Namespace = cmp.Or(a.Namespace, DefaultNamespace)
	if ofCluster(a.Namespace) {
		for _, in := range []map[string]Manifest{holders, named} {
			if m, is := in[a.Namespace]; is {
				return foreign(m)
			}
		}
		return fmt.Errorf("namespace %s belongs to the cluster itself: name another one with --namespace", a.Namespace)
	}
	return nil
}

// ofCluster reports whether a namespace is the cluster's, or one of the test's own load workers, whose pods may be root on their nodes.
func ofCluster(namespace string) bool {
	return slices.Contains([]string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}, namespace) ||
		strings.HasPrefix(namespace, workloads.LoadPrefix)
}

// allowed returns an error for an object in a namespace of the cluster, unless it is one of those that extensions of Kubernetes have in
// kube-system, such as a RoleBinding. Package manifests refuses what has pods there.
func allowed(m Manifest) error {
	in := m.Object.GetNamespace()
	if len(validation.IsDNS1123Label(in)) > 0 {
		return fmt.Errorf("%s is in namespace %q, and Kubernetes takes no such name: want lower-case letters, digits and dashes", m, in)
	}
	if !ofCluster(in) || in == metav1.NamespaceSystem && (m.Before || !isWorkload(m.Object)) {
		return nil
	}
	return foreign(m)
}

// foreign is the error for an object in a namespace of the cluster.
func foreign(m Manifest) error {
	return fmt.Errorf("%s %s (%s) is in namespace %s, which belongs to the cluster itself, and the test removes what it creates: "+
		"give it another namespace, in its manifest or with `namespace:` of a kustomization",
		m.Object.GetKind(), m.Object.GetName(), m.Place("metadata", "namespace"), m.Object.GetNamespace())
}

// isWorkload reports whether an object says by itself which namespace is tested. A DaemonSet does so only where there is no other: many are
// agents of nodes, in namespaces of their own.
func isWorkload(o unstructured.Unstructured) bool {
	kind := o.GroupVersionKind().GroupKind().String()
	return kind == "Deployment.apps" || kind == "StatefulSet.apps"
}

// tested reports whether an object is what a test can disturb.
func tested(o unstructured.Unstructured) bool {
	return isWorkload(o) || o.GroupVersionKind().GroupKind().String() == "DaemonSet.apps"
}

// elsewhere notes the Services that are not those of the tested workloads.
func (a *App) elsewhere() {
	known := map[string]bool{}
	for _, s := range a.Services {
		known[s.Name] = true
	}
	for _, m := range a.All() {
		var s corev1.Service
		if m.Object.GroupVersionKind().GroupKind().String() != "Service" ||
			runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object.Object, &s) != nil { // the API server says what is wrong
			continue
		}
		if !known[s.Name] || s.Namespace != a.Namespace {
			a.Elsewhere = append(a.Elsewhere, serviceOf(s))
		}
	}
}
