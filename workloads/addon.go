package workloads

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// addon is what distinguishes one add-on's pod from another's.
type addon struct {
	name      string
	args      []string
	port      int32  // for HTTPS, or for HTTP if plain
	plain     bool   // serves HTTP
	readyPath string // path of the readiness probe
	resources Resources
}

func (a addon) meta(at Place) metav1.ObjectMeta { return at.meta(a.name, ComponentAddon) }

// wide is the metadata of a cluster-scoped object; the name contains the namespace of the scenario.
func (a addon) wide(at Place) metav1.ObjectMeta {
	meta := a.meta(at)
	meta.Namespace, meta.Name = "", at.Namespace+"-"+a.name
	return meta
}

func (a addon) account(at Place) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: a.meta(at)}
}

func (a addon) subjects(at Place) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: a.name, Namespace: at.Namespace}}
}

// everywhere grants the rules in the whole cluster.
func (a addon) everywhere(at Place, rules ...rbacv1.PolicyRule) []Object {
	return []Object{
		&rbacv1.ClusterRole{TypeMeta: rbacKind("ClusterRole"), ObjectMeta: a.wide(at), Rules: rules},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: rbacKind("ClusterRoleBinding"), ObjectMeta: a.wide(at), Subjects: a.subjects(at),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: a.wide(at).Name},
		},
	}
}

// here grants the rules in the scenario's namespace only.
func (a addon) here(at Place, rules ...rbacv1.PolicyRule) []Object {
	return []Object{
		&rbacv1.Role{TypeMeta: rbacKind("Role"), ObjectMeta: a.meta(at), Rules: rules},
		&rbacv1.RoleBinding{
			TypeMeta: rbacKind("RoleBinding"), ObjectMeta: a.meta(at), Subjects: a.subjects(at),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: a.name},
		},
	}
}

func rbacKind(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.GroupName + "/v1", Kind: kind}
}

func may(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// portOf is the name and the scheme of the port that the add-on serves on.
func (a addon) portOf() (name string, scheme corev1.URIScheme) {
	if a.plain {
		return "http", corev1.URISchemeHTTP
	}
	return "https", corev1.URISchemeHTTPS
}

// deployment has one pod, which must terminate before its replacement starts: two pods would do the same work twice.
func (a addon) deployment(at Place) *appsv1.Deployment {
	template := pod{
		name: a.name, component: ComponentAddon, resources: a.resources, preStop: NoPreStop, grace: addonGrace,
		readiness: Readiness{}.withDefaults(), readyPath: a.readyPath, account: a.name,
	}.template(at)
	template.Spec.NodeSelector, template.Spec.Tolerations = onRole(roleLoad), loadTolerations()
	c := &template.Spec.Containers[0]
	c.Name, c.Args = a.name, a.args
	c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.ValueFrom != nil }) // these identify holdfast's own servers
	name, scheme := a.portOf()
	c.Ports = []corev1.ContainerPort{{Name: name, ContainerPort: a.port, Protocol: corev1.ProtocolTCP}}
	c.ReadinessProbe.HTTPGet.Port, c.ReadinessProbe.HTTPGet.Scheme = intstr.FromString(name), scheme
	return deployment(a.meta(at), 1, Strategy{MaxSurge: "0", MaxUnavailable: "1"}, template)
}

// mount mounts a volume into the program's container.
func mount(d *appsv1.Deployment, path string, source corev1.VolumeSource) {
	name := fmt.Sprintf("volume-%d", len(d.Spec.Template.Spec.Volumes))
	spec := &d.Spec.Template.Spec
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
}
