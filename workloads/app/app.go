package app

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-ha/holdfast/workloads"
)

// DefaultNamespace is where objects go that name no namespace.
const DefaultNamespace = "app"

// App is an application. All its namespaced objects are in one namespace.
type App struct {
	Namespace string
	// Manifests are the objects, in the order in which they are created.
	Manifests []Manifest
	// NotRun are the hooks of a chart that no installation runs.
	NotRun []Manifest
	// Given are the images that the user names: archives, or references. Layout is the folder in which all images of the application were
	// gathered, as an OCI image layout; package appimages does that. Every node gets them from there.
	Given     []string
	PullNever bool // no registry is asked for what is not given and not in the local engine
	Layout    string
	// Workloads are the Deployments and StatefulSets among the objects, and Services the Services.
	Workloads []Workload
	Services  []Service
}

// Manifest is an object, and where it was read.
type Manifest struct {
	Source string // a file, a URL, or stdin
	Object unstructured.Unstructured
	// Chart is the digest of the chart that it was rendered from; empty: it was written as it is. Stage is when it is created.
	Chart string
	Stage Stage
}

// String names the object and its file: "Deployment web (k8s/web.yaml)".
func (m Manifest) String() string {
	return fmt.Sprintf("%s %s (%s)", m.Object.GetKind(), m.Object.GetName(), m.Source)
}

// Workload is a Deployment or a StatefulSet of the application.
type Workload struct {
	workloads.Controller
	Replicas int32
	// Services are the names of the Services that select its pods.
	Services []string
	Template corev1.PodTemplateSpec
}

// Kind is the kind of the object.
func (w Workload) Kind() string {
	if w.StatefulSet {
		return "StatefulSet"
	}
	return "Deployment"
}

// Service is a Service of the application.
type Service struct {
	Name     string
	Ports    []corev1.ServicePort
	Selector map[string]string
	Headless bool
	// LoadBalancer says that its type asks for an address outside of the cluster, and LocalTraffic that a node sends what comes to that
	// address to its own pods only.
	LoadBalancer, LocalTraffic bool
}

// New is the application of some manifests. The namespace is that of the objects that name one, or else fallback, or else
// DefaultNamespace. The error names each object that cannot be tested here, and why.
func New(manifests []Manifest, fallback string) (App, error) {
	if len(manifests) == 0 {
		return App{}, errors.New("no manifests: name files or folders with at least a Deployment and its Service")
	}
	var a App
	for _, m := range manifests {
		if m.Stage == Never {
			a.NotRun = append(a.NotRun, m)
			continue
		}
		a.Manifests = append(a.Manifests, m)
	}
	if err := a.place(fallback); err != nil {
		return App{}, err
	}
	var errs []error
	for _, m := range a.Manifests {
		if m.IsHook() { // it is not under test
			continue
		}
		if err := a.add(m); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m, err))
		}
	}
	errs = append(errs, a.cannotWork()...)
	if len(a.Workloads) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("the manifests have no Deployment and no StatefulSet, so there is nothing to test"))
	}
	if err := errors.Join(errs...); err != nil {
		return App{}, err
	}
	for i := range a.Workloads {
		a.Workloads[i].Services = a.selecting(a.Workloads[i])
	}
	slices.SortStableFunc(a.Manifests, inOrder)
	return a, nil
}

// place puts the objects into one namespace. `default` is what kubectl says where no namespace was chosen.
func (a *App) place(fallback string) error {
	for _, m := range a.Manifests {
		switch in := m.Object.GetNamespace(); {
		case in == "" || in == metav1.NamespaceDefault || in == a.Namespace:
		case a.Namespace == "":
			a.Namespace = in
		default:
			return fmt.Errorf("%s is in namespace %s, and others are in %s: test the parts of an application that share a namespace", m, in, a.Namespace)
		}
	}
	a.Namespace = cmp.Or(a.Namespace, fallback, DefaultNamespace)
	for _, forbidden := range []string{"kube-system", "kube-public", "kube-node-lease"} {
		if a.Namespace == forbidden {
			return fmt.Errorf("the objects are in namespace %s, which belongs to the cluster itself", a.Namespace)
		}
	}
	a.Manifests = slices.DeleteFunc(a.Manifests, func(m Manifest) bool {
		return m.Object.GetKind() == "Namespace" && m.Object.GetName() == a.Namespace // it is created anyway, and marked
	})
	for i := range a.Manifests {
		if o := &a.Manifests[i].Object; !clusterScoped(*o) {
			o.SetNamespace(a.Namespace)
		}
	}
	return nil
}

// add notes what a test must know of an object.
func (a *App) add(m Manifest) error {
	switch kind := m.Object.GroupVersionKind().GroupKind().String(); kind {
	case "Deployment.apps":
		var d appsv1.Deployment
		if err := m.typed(&d); err != nil {
			return err
		}
		a.Workloads = append(a.Workloads, Workload{Controller: workloads.Controller{Name: d.Name}, Replicas: replicas(d.Spec.Replicas), Template: d.Spec.Template})
	case "StatefulSet.apps":
		var s appsv1.StatefulSet
		if err := m.typed(&s); err != nil {
			return err
		}
		a.Workloads = append(a.Workloads, Workload{Controller: workloads.Controller{Name: s.Name, StatefulSet: true}, Replicas: replicas(s.Spec.Replicas), Template: s.Spec.Template})
	case "Service":
		var s corev1.Service
		if err := m.typed(&s); err != nil {
			return err
		}
		a.Services = append(a.Services, Service{
			Name: s.Name, Ports: s.Spec.Ports, Selector: s.Spec.Selector, Headless: s.Spec.ClusterIP == corev1.ClusterIPNone,
			LoadBalancer: s.Spec.Type == corev1.ServiceTypeLoadBalancer,
			LocalTraffic: s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
		})
	}
	return nil
}

func replicas(asked *int32) int32 {
	if asked == nil {
		return 1 // Kubernetes' default
	}
	return *asked
}

// selecting are the Services that select a workload's pods.
func (a App) selecting(w Workload) (names []string) {
	for _, s := range a.Services {
		if len(s.Selector) > 0 && labels.SelectorFromSet(s.Selector).Matches(labels.Set(w.Template.Labels)) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Service finds a Service by the host of a URL: its name, or the longer names that the cluster's DNS has for it.
func (a App) Service(host string) (Service, bool) {
	name, rest, _ := strings.Cut(host, ".")
	in, domain, _ := strings.Cut(rest, ".")
	if in != "" && in != a.Namespace || domain != "" && domain != "svc" && !strings.HasPrefix(domain, "svc.") {
		return Service{}, false
	}
	i := slices.IndexFunc(a.Services, func(s Service) bool { return s.Name == name })
	if i < 0 {
		return Service{}, false
	}
	return a.Services[i], true
}

// Behind are the workloads whose pods a Service selects.
func (a App) Behind(service string) (list []Workload) {
	for _, w := range a.Workloads {
		if slices.Contains(w.Services, service) {
			list = append(list, w)
		}
	}
	return list
}

// Images are the names of the images that the objects' pods run, each once and in order.
func (a App) Images() (names []string) {
	for _, m := range a.Manifests {
		for _, c := range containersOf(m.Object) {
			if image, _ := c["image"].(string); image != "" {
				names = append(names, image)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
