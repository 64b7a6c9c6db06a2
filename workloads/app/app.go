package app

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/workloads"
)

// DefaultNamespace is where objects go that name no namespace.
const DefaultNamespace = "app"

// App is an application.
type App struct {
	// Namespace is that of the tested workloads, of their Services, and of the objects that name none. Own is the same, as its manifest
	// has it, and Namespaces are those that other objects are in. None of them belongs to the cluster.
	Namespace  string
	Own        Namespace
	Namespaces []Namespace
	// Before is what must be ready before anything else is created: CustomResourceDefinitions, operators, controllers.
	Before Stage
	// Manifests are the objects, in the order in which they are created. PreInstall and PostInstall are Helm's hooks before and after that.
	Manifests               []Manifest
	PreInstall, PostInstall []Hook
	// Taken are the manifests of namespaces, hooks that do not run, and what is left out.
	Taken []Manifest
	// Notes say what of the manifests is not deployed, and what a reader of the verdicts must know of them.
	Notes []string
	// Given are the images that the user names: archives, or references. Layout is the folder in which all images of the application were
	// gathered, as an OCI image layout; package images does that. Every node gets them from there.
	Given []string
	// Privileged lets its pods have what the Pod Security level baseline refuses, such as the node's root.
	Privileged bool `json:",omitempty"`
	PullNever  bool // no registry is asked for what is not given and not in the local engine
	Layout     string
	// Workloads are the Deployments, StatefulSets and DaemonSets among the objects, and Services the Services.
	// Both are in Namespace. Elsewhere are the Services in other namespaces, and those of Before.
	Workloads []Workload
	Services  []Service
	Elsewhere []Service

	without  []string // kinds that are left out
	existing bool     // the cluster may have kinds that no manifest defines
	kinds    kinds
	behind   map[string][]int // the workloads behind each Service
}

// Manifest is an object, and where it was read.
type Manifest struct {
	Source string // a file, a URL, or stdin
	Object unstructured.Unstructured
	Before bool // it must be ready before what is not Before is created
	// Chart is the digest of the Helm chart that it was rendered from; empty: it was written as it is.
	Chart string

	document document // without its text
}

// String names the object and its file: "Deployment web (k8s/web.yaml)".
func (m Manifest) String() string {
	return fmt.Sprintf("%s %s (%s)", m.Object.GetKind(), m.Object.GetName(), m.Source)
}

// Workload is a Deployment, a StatefulSet or a DaemonSet of the application.
type Workload struct {
	workloads.Controller
	Replicas int32 // of a DaemonSet 1, because the nodes decide
	// Services are the names of the Services that select its pods.
	Services []string
	Template corev1.PodTemplateSpec
	// Stuck is why a change of its template does not replace its pods; empty: it replaces all of them.
	Stuck string
	// Config is what a change of its configuration would change; the zero Config: nothing, and Unconfigured says why.
	Config       workloads.Config
	Unconfigured string
}

// Service is a Service of the application.
type Service struct {
	Namespace, Name string

	Ports    []corev1.ServicePort
	Selector map[string]string
	Headless bool
	// External is where a Service of type ExternalName leads to.
	External string
	// LoadBalancer says that its type asks for an address outside of the cluster, NodePort that its type asks for ports of the nodes and no more, and
	// LocalTraffic that a node sends what comes from outside to its own pods only.
	LoadBalancer, NodePort, LocalTraffic bool
	Sticky                               string // see StickyService
}

// New is the application of some manifests. Its namespace is that of the objects that name one, or else fallback, or else
// DefaultNamespace; where they name several, it is that of the Deployments and StatefulSets, or fallback. Objects of the kinds in without, such as
// Certificate or Certificate.cert-manager.io, are left out. The error names each object that is not what Kubernetes knows under its kind.
func New(manifests []Manifest, fallback string, without ...string) (App, error) {
	return NewOn(false, manifests, fallback, without...)
}

// NewOn is New for a cluster that is existing: it may have kinds that no manifest defines.
func NewOn(existing bool, manifests []Manifest, fallback string, without ...string) (App, error) {
	if len(manifests) == 0 {
		return App{}, errors.New("no manifests: name files or folders with at least a Deployment and its Service")
	}
	a := App{existing: existing, without: without, kinds: kindsOf(manifests)}
	kept, err := a.leaveOut(manifests)
	if err != nil {
		return App{}, err
	}
	placed, err := a.place(kept, fallback)
	if err == nil {
		placed, err = once(placed)
	}
	if err != nil {
		return App{}, err
	}
	a.sort(placed)
	if err := a.addAll(); err != nil {
		return App{}, err
	}
	if err := a.connect(); err != nil {
		return App{}, err
	}
	a.elsewhere()
	return a, nil
}

// addAll notes what a test must know of the objects.
func (a *App) addAll() error {
	var errs []error
	for _, m := range a.All() {
		if o, err := scheme.Scheme.New(m.Object.GroupVersionKind()); err == nil {
			errs = append(errs, m.decode(o))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	errs = nil
	for _, m := range a.Manifests {
		if m.Object.GetNamespace() != a.Namespace {
			if tested(m.Object) {
				a.Notes = append(a.Notes, fmt.Sprintf("%s is in namespace %s: it is deployed, and nothing is promised of it, because what is tested is in namespace %s.",
					m, m.Object.GetNamespace(), a.Namespace))
			}
			continue
		}
		if err := a.add(m); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m, err))
		}
	}
	if len(a.Workloads) == 0 && len(errs) == 0 {
		errs = append(errs, a.nothing())
	}
	return errors.Join(errs...)
}

// connect finds the Services and the configuration of the workloads.
func (a *App) connect() error {
	named, byLabel := map[string]string{}, map[[2]string][]int{}
	for i, w := range a.Workloads {
		if kind, is := named[w.Name]; is && slices.Contains([]string{kind, w.Kind}, workloads.DaemonSet) {
			return SameName(w, kind)
		}
		named[w.Name] = w.Kind
		for key, value := range w.Template.Labels {
			byLabel[[2]string{key, value}] = append(byLabel[[2]string{key, value}], i)
		}
	}
	a.behind = map[string][]int{}
	for _, s := range a.Services {
		for _, i := range rarest(s.Selector, byLabel) {
			if w := &a.Workloads[i]; labels.SelectorFromSet(s.Selector).Matches(labels.Set(w.Template.Labels)) {
				w.Services, a.behind[s.Name] = append(w.Services, s.Name), append(a.behind[s.Name], i)
			}
		}
	}
	configs := a.configs()
	for i := range a.Workloads {
		a.Workloads[i].Config, a.Workloads[i].Unconfigured = configOf(configs, a.Workloads[i].Template)
	}
	return nil
}

// add notes what a test must know of an object.
func (a *App) add(m Manifest) error {
	kind := m.Object.GroupVersionKind()
	if kind.Group == appsv1.GroupName { // those before have the same fields
		kind.Version = appsv1.SchemeGroupVersion.Version
	}
	o, _ := scheme.Scheme.New(kind) // nil: it is of a kind of its own
	var err error
	w := Workload{Controller: workloads.Controller{Name: m.Object.GetName(), Kind: kind.Kind}}
	switch o := o.(type) {
	case *appsv1.Deployment:
		err = m.typed(o)
		w.Replicas, w.Template, w.Stuck = ptr.Deref(o.Spec.Replicas, 1), o.Spec.Template, workloads.StuckDeployment(o.Spec)
	case *appsv1.DaemonSet:
		err = m.typed(o)
		w.Replicas, w.Template, w.Stuck = 1, o.Spec.Template, workloads.StuckDaemonSet(o.Spec)
	case *appsv1.StatefulSet:
		err = m.typed(o)
		w.Replicas, w.Template, w.Stuck = ptr.Deref(o.Spec.Replicas, 1), o.Spec.Template, workloads.StuckStatefulSet(o.Spec)
	case *corev1.Service:
		err = m.typed(o)
		a.Services = append(a.Services, serviceOf(*o))
		return err
	default:
		return nil
	}
	a.Workloads = append(a.Workloads, w)
	return err
}

func serviceOf(s corev1.Service) Service {
	return Service{
		Namespace: s.Namespace, Name: s.Name,
		Ports: s.Spec.Ports, Selector: s.Spec.Selector, Headless: s.Spec.ClusterIP == corev1.ClusterIPNone,
		External: s.Spec.ExternalName, LoadBalancer: s.Spec.Type == corev1.ServiceTypeLoadBalancer, NodePort: s.Spec.Type == corev1.ServiceTypeNodePort,
		LocalTraffic: s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal, Sticky: StickyService(s.Name, s.Spec),
	}
}

// SameName is the error for a workload that has the name of one of another kind.
func SameName(w Workload, kind string) error {
	return fmt.Errorf("%s %s has the name of a %s, and a record tells workloads apart by their names: rename one of them for the test", w.Kind, w.Name, kind)
}

// rarest are the workloads with the one label of a selector that the fewest have: those that it selects are among them.
func rarest(selector map[string]string, byLabel map[[2]string][]int) (fewest []int) {
	first := true
	for key, value := range selector {
		if have := byLabel[[2]string{key, value}]; first || len(have) < len(fewest) {
			fewest, first = have, false
		}
	}
	return fewest
}

// configs are the ConfigMaps and Secrets of the application, by kind and name, and whether they are immutable.
func (a App) configs() map[[2]string]bool {
	all := map[[2]string]bool{}
	for _, m := range a.Manifests {
		if kind := m.Object.GetKind(); (kind == "ConfigMap" || kind == "Secret") && m.Object.GetNamespace() == a.Namespace {
			all[[2]string{kind, m.Object.GetName()}] = m.Object.Object["immutable"] == true
		}
	}
	return all
}

// configOf is the first of the ConfigMaps and Secrets of a template that may be changed, or why it has no such object. One that only the cluster has counts
// as one that may.
func configOf(configs map[[2]string]bool, template corev1.PodTemplateSpec) (c workloads.Config, why string) {
	var fixed []string
	for _, c := range workloads.ConfigsOf(template) {
		immutable, has := configs[[2]string{c.Kind, c.Name}]
		switch {
		case immutable:
			fixed = append(fixed, c.String())
		case has || !c.Optional:
			return c, ""
		}
	}
	if len(fixed) > 0 {
		return c, "its configuration is immutable (" + strings.Join(fixed, ", ") + ")"
	}
	return c, "it mounts and reads no ConfigMap and no Secret"
}

// Domain is the end of all names of Services in the DNS of a test's cluster.
const Domain = ".svc.cluster.local"

// Service finds a Service by the host of a URL: its name, or the longer names that the cluster's DNS has for it. One of type ExternalName is
// followed to the Service that it leads to; where that Service is not of the application, the ExternalName is returned itself.
func (a App) Service(host string) (Service, bool) {
	s, known := a.lookUp(a.Services, host)
	for range a.Services { // they may lead in circles
		to := strings.TrimSuffix(s.External, ".")
		next, is := a.lookUp(a.Services, to)
		if !is || !strings.HasSuffix(to, Domain) {
			break
		}
		s = next
	}
	return s, known
}

// ServiceElsewhere finds a Service by the host of a URL among those that are not of the tested workloads.
func (a App) ServiceElsewhere(host string) (Service, bool) { return a.lookUp(a.Elsewhere, host) }

func (a App) lookUp(services []Service, host string) (Service, bool) {
	name, rest, _ := strings.Cut(host, ".")
	in, domain, _ := strings.Cut(rest, ".")
	if domain != "" && domain != "svc" && !strings.HasPrefix(domain, "svc.") {
		return Service{}, false
	}
	i := slices.IndexFunc(services, func(s Service) bool { return s.Name == name && s.Namespace == cmp.Or(in, a.Namespace) })
	if i < 0 {
		return Service{}, false
	}
	return services[i], true
}

// Behind are the workloads whose pods a Service selects.
func (a App) Behind(service string) (list []Workload) {
	for _, i := range a.behind[service] {
		if i < len(a.Workloads) && slices.Contains(a.Workloads[i].Services, service) {
			list = append(list, a.Workloads[i])
		}
	}
	if a.behind != nil && len(list) == len(a.behind[service]) {
		return list
	}
	list = nil // the list of workloads was changed since
	for _, w := range a.Workloads {
		if slices.Contains(w.Services, service) {
			list = append(list, w)
		}
	}
	return list
}

// Images are the names of the images that the objects' pods run, each once and in order.
func (a App) Images() (names []string) {
	for _, m := range a.All() {
		for _, c := range containersOf(m.Object) {
			if image, _ := c["image"].(string); image != "" && IsName(image) {
				names = append(names, image)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
