package workloads

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// Addon is a third-party program that is installed in a cluster because a claim depends on it. It runs on the load node,
// which no fault touches, in the scenario's namespace. The names of its other objects begin with the namespace's name,
// except those of APIServices and CustomResourceDefinitions, which are given by their API.
type Addon interface {
	// Program is the program that the add-on runs.
	Program() Program
	// Validate returns an error if the options are invalid.
	Validate() error
	// Objects are the objects to create, in order. The Place's image must contain the program. The namespace is not among
	// the objects; some of them may be cluster-scoped or in another namespace.
	Objects(at Place) ([]Object, error)
}

// Program is a command of a Go module at one version. It is compiled; no image of it is pulled.
type Program struct {
	Name    string // file name of the program; the last element of Package
	Module  string // for example "sigs.k8s.io/descheduler"
	Version string // for example "v0.36.0"
	Package string // for example "sigs.k8s.io/descheduler/cmd/descheduler"
	LDFlags string // they stamp in the version
}

// ComponentAddon is the value of LabelComponent on all objects of add-ons.
const ComponentAddon = "addon"

// addonGrace is the grace period of add-ons; none of them has state to save.
const addonGrace = time.Second

// manifests are the objects of each add-on, except its Deployment. NAMESPACE stands for the scenario's namespace.
//
//go:embed manifests
var manifests embed.FS

// addon is what distinguishes one add-on's pod from another's.
type addon struct {
	name      string
	args      []string
	every     time.Duration
	port      int32  // for HTTPS, or for HTTP if plain; 0: it serves nothing
	plain     bool   // serves HTTP
	readyPath string // path of the readiness probe
	resources Resources
}

func (a addon) requests() Resources { return a.resources.withDefaults("20m", "64Mi", "256Mi") }

func (a addon) validate(least time.Duration) error {
	if a.every < least {
		return fmt.Errorf("%s: a round every %s: want at least %s", a.name, a.every, least)
	}
	if err := a.requests().validate(); err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	return nil
}

// objects are those of the manifests, with words replaced in pairs, and the Deployment, with a volume mounted if there is one.
func (a addon) objects(of Addon, at Place, path string, volume *corev1.VolumeSource, replace ...string) (all []Object, err error) {
	if err := of.Validate(); err != nil {
		return nil, err
	}
	text, err := manifests.ReadFile("manifests/" + a.name + ".yaml")
	if err != nil {
		return nil, err
	}
	filled := strings.NewReplacer(append(replace, "NAMESPACE", at.Namespace)...).Replace(string(text))
	for document := range strings.SplitSeq(filled, "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			return nil, fmt.Errorf("read the manifests of %s: %w", a.name, err)
		}
		o := emptyObject(kind.Kind)
		if err := yaml.UnmarshalStrict([]byte(document), o); err != nil {
			return nil, fmt.Errorf("read the manifests of %s: %w", a.name, err)
		}
		o.SetLabels(labels(a.name, ComponentAddon))
		all = append(all, o)
	}
	return append(all, a.deployment(at, path, volume)), nil
}

// emptyObject is unstructured if the kind's Go type is in a module that nothing else here needs.
func emptyObject(kind string) Object {
	switch kind {
	case "ServiceAccount":
		return &corev1.ServiceAccount{}
	case "ConfigMap":
		return &corev1.ConfigMap{}
	case "Service":
		return &corev1.Service{}
	case "Role":
		return &rbacv1.Role{}
	case "RoleBinding":
		return &rbacv1.RoleBinding{}
	case "ClusterRole":
		return &rbacv1.ClusterRole{}
	case "ClusterRoleBinding":
		return &rbacv1.ClusterRoleBinding{}
	}
	return &unstructured.Unstructured{}
}

// deployment has one pod, which must terminate before its replacement starts: two pods would do the same work twice.
func (a addon) deployment(at Place, path string, volume *corev1.VolumeSource) *appsv1.Deployment {
	template := pod{
		name: a.name, component: ComponentAddon, resources: a.requests(), preStop: NoPreStop, grace: addonGrace,
		readiness: Readiness{}.withDefaults(), readyPath: a.readyPath, account: a.name,
	}.template(at)
	template.Spec.NodeSelector, template.Spec.Tolerations = onRole(roleLoad), loadTolerations()
	c := &template.Spec.Containers[0]
	c.Name, c.Args = a.name, a.args
	c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.ValueFrom != nil }) // these identify holdfast's own servers
	name, scheme := "https", corev1.URISchemeHTTPS
	if a.plain {
		name, scheme = "http", corev1.URISchemeHTTP
	}
	c.Ports = []corev1.ContainerPort{{Name: name, ContainerPort: a.port, Protocol: corev1.ProtocolTCP}}
	c.ReadinessProbe.HTTPGet.Port, c.ReadinessProbe.HTTPGet.Scheme = intstr.FromString(name), scheme
	if a.port == 0 {
		c.Ports, c.ReadinessProbe = nil, nil
	}
	if volume != nil {
		template.Spec.Volumes = []corev1.Volume{{Name: "volume-0", VolumeSource: *volume}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "volume-0", MountPath: path}}
	}
	return deployment(at.meta(a.name, ComponentAddon), 1, Strategy{MaxSurge: "0", MaxUnavailable: "1"}, template)
}
