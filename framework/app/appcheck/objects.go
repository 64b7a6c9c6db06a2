package appcheck

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ports "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// ofServer are the groups of the API server whose Go types are in modules of their own.
var ofServer = []string{"apiextensions.k8s.io", "apiregistration.k8s.io"}

// kind finds an object of a kind that the cluster does not know.
func (c *checker) kind(m app.Manifest) {
	kind := m.Object.GroupVersionKind()
	if slices.Contains(ofServer, kind.Group) {
		return
	}
	if scheme.Scheme.Recognizes(kind) {
		if _, removed, instead := Lifetime(kind); removed != "" && semver.Compare(c.plan.Kubernetes, removed) >= 0 {
			if m.Chart != "" {
				instead += " by a value of the chart, if it has one: Helm tells each chart that it renders without a cluster that the older version is there; " +
					"or render it with 'helm template --dry-run=server' where it is not, and use -f"
			}
			c.stops(m, []any{"apiVersion"}, instead, "Kubernetes %s and newer do not know %s", semver.MajorMinor(removed), kind.GroupVersion())
		}
		return
	}
	switch {
	case scheme.Scheme.IsGroupRegistered(kind.Group):
		if newest, is := versionOf(kind.GroupKind()); is {
			c.stops(m, []any{"apiVersion"}, "use "+newest, "Kubernetes knows no %s of %s", kind.Kind, kind.GroupVersion())
			return
		}
		c.stops(m, []any{"kind"}, "correct apiVersion and kind", "there is no kind %s in %s", kind.Kind, kind.GroupVersion())
	case c.plan.Existing, c.app.MayHave(kind.GroupKind()):
	default:
		c.stops(m, []any{"kind"}, "name the folder with its definition, and with the controller that makes something of it, with --before, "+
			"or, if nothing needs it to serve, leave it out with --without "+kind.Kind, "no CustomResourceDefinition of the manifests defines %s", kind.GroupKind())
	}
}

// versionOf is the newest version of a kind's group that has the kind, and is not to be removed.
func versionOf(kind schema.GroupKind) (newest string, is bool) {
	var best string
	for _, v := range scheme.Scheme.PrioritizedVersionsForGroup(kind.Group) {
		_, removed, _ := Lifetime(v.WithKind(kind.Kind))
		if removed == "" && scheme.Scheme.Recognizes(v.WithKind(kind.Kind)) && (!is || version.CompareKubeAwareVersionStrings(v.Version, best) > 0) {
			newest, best, is = v.String(), v.Version, true
		}
	}
	return newest, is
}

// Lifetime is the version of Kubernetes in which a kind was introduced, and that in which it was removed, with what to use in its place; empty: it is
// not known, or it was not removed.
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

// service finds a Service that leads out of the cluster, and what of one that is asked the requests do not meet.
func (c *checker) service(m app.Manifest) {
	if m.Object.GroupVersionKind().GroupKind().String() != "Service" {
		return
	}
	c.traffic(m)
	list, _, _ := unstructured.NestedSlice(m.Object.Object, "spec", "ports")
	for i, one := range list {
		port, _ := one.(map[string]any)
		if n, _ := port["port"].(int64); ports.IsValidPortNum(int(n)) != nil || len(list) > 1 && port["name"] == nil {
			c.stops(m, []any{"spec", "ports", i}, "give it a number from 1 to 65535, and, beside others, a name", "Kubernetes takes no such port")
		}
	}
	host, _, _ := unstructured.NestedString(m.Object.Object, "spec", "externalName")
	kind, _, _ := unstructured.NestedString(m.Object.Object, "spec", "type")
	if kind != string(corev1.ServiceTypeExternalName) {
		return
	}
	if inside := strings.TrimSuffix(strings.TrimSuffix(host, "."), ".cluster.local"); strings.HasSuffix(inside, ".svc") {
		return
	}
	c.notes(m, []any{"spec", "externalName"}, "put something in its place if the application needs it to be ready", "%s is outside of the cluster, and not in reach", host)
}

// webhooks finds webhooks and API servers that are asked for each object, or for whole groups, and do not exist.
func (c *checker) webhooks(m app.Manifest) {
	switch m.Object.GetKind() {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		list, _, _ := unstructured.NestedSlice(m.Object.Object, "webhooks")
		for i, one := range list {
			hook, _ := one.(map[string]any)
			policy, _, _ := unstructured.NestedString(hook, "failurePolicy")
			config, _, _ := unstructured.NestedMap(hook, "clientConfig")
			c.client(m, config, []any{"webhooks", i, "clientConfig"}, policy != "Ignore")
		}
	case "CustomResourceDefinition":
		config, has, _ := unstructured.NestedMap(m.Object.Object, "spec", "conversion", "webhook", "clientConfig")
		if has {
			c.client(m, config, []any{"spec", "conversion", "webhook", "clientConfig"}, true)
		}
	case "APIService":
		service, has, _ := unstructured.NestedMap(m.Object.Object, "spec", "service")
		if has {
			c.client(m, map[string]any{"service": service}, []any{"spec"}, true)
		}
	}
}

// client looks at where a webhook is.
func (c *checker) client(m app.Manifest, config map[string]any, path []any, stops bool) {
	const next = "add what serves it with --before, or leave the object out of the manifests of the test"
	say := c.notes
	if stops {
		say = c.stops
	}
	if url, _, _ := unstructured.NestedString(config, "url"); url != "" {
		say(m, below(path, "url"), next, "%s is outside of the cluster, and not in reach", url)
		return
	}
	name, _, _ := unstructured.NestedString(config, "service", "name")
	namespace, _, _ := unstructured.NestedString(config, "service", "namespace")
	if name == "" {
		return
	}
	if namespace == "" || namespace == corev1.NamespaceDefault {
		namespace = c.app.Namespace
	}
	if _, is := c.object("Service", namespace, name); !is && !c.plan.Existing {
		say(m, below(path, "service"), next, "Service %s in namespace %s is created by nobody", name, namespace)
	}
}

// ofClouds are the kinds of volumes that only a cloud, or a server outside of the cluster, has.
var ofClouds = []string{
	"awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume", "flocker", "gcePersistentDisk", "glusterfs",
	"iscsi", "nfs", "photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume",
}

// ofNodes are the fields that make a folder of a node, or of a path that the manifest chooses there, a volume.
var ofNodes = map[string][][]string{"PersistentVolume": {{"spec", "hostPath"}, {"spec", "local"}}, "StorageClass": {{"parameters", "pathPattern"}}}

// host finds what would be root on a node although the pods of the application are held to a level of Pod Security: none is enforced in
// kube-system, and none is about PersistentVolumes.
func (c *checker) host(m app.Manifest) {
	if c.app.Privileged {
		return
	}
	if _, path := m.PodSpec(); path != nil && m.Object.GetNamespace() == metav1.NamespaceSystem {
		c.stops(m, []any{"metadata", "namespace"}, "have it in a namespace of its own; "+workloads.HowToTrust, "no Pod Security level is enforced on pods in kube-system")
	}
	for _, field := range ofNodes[m.Object.GetKind()] {
		if _, has, _ := unstructured.NestedFieldNoCopy(m.Object.Object, field...); has {
			c.stops(m, []any{field[0], field[1]}, "leave it out, and name no class in the claim, which then gets a volume; "+workloads.HowToTrust, "it makes any folder of a node a volume")
		}
	}
}

// volume finds a PersistentVolume that only another cluster has.
func (c *checker) volume(m app.Manifest) {
	if m.Object.GetKind() != "PersistentVolume" {
		return
	}
	spec, _, _ := unstructured.NestedMap(m.Object.Object, "spec")
	c.source(m, spec, []any{"spec"})
}

// volumes finds volumes of pods that only another cluster has.
func (c *checker) volumes(p pods) {
	spec, _ := p.PodSpec()
	list, _, _ := unstructured.NestedSlice(spec, "volumes")
	for i, one := range list {
		volume, _ := one.(map[string]any)
		c.source(p.Manifest, volume, below(p.path, "volumes", i))
	}
}

// source looks at what a volume is made of.
func (c *checker) source(m app.Manifest, volume map[string]any, path []any) {
	const next = "put an emptyDir or a PersistentVolumeClaim in its place in the manifests of the test"
	for _, kind := range ofClouds {
		if _, has := volume[kind]; has {
			c.stops(m, below(path, kind), next, "a volume of this kind is outside of the cluster, and not in reach")
		}
	}
	if driver, _, _ := unstructured.NestedString(volume, "csi", "driver"); driver != "" && !c.plan.Existing && !c.runs(driver) {
		c.stops(m, below(path, "csi", "driver"), next+", or add the driver with --before", "CSI driver %s is brought by nobody", driver)
	}
}

// runs reports whether the application brings a driver: its object, or pods that are told its name.
func (c *checker) runs(driver string) bool {
	if _, is := c.object("CSIDriver", "", driver); is {
		return true
	}
	return slices.ContainsFunc(slices.Concat(c.pods...), func(p pods) bool {
		return slices.ContainsFunc(p.containers(), func(one container) bool {
			return strings.Contains(strings.Join(one.texts(), " "), driver)
		})
	})
}

// standardClass is the default class of kind's clusters.
const standardClass = "standard"

// claims finds claims of classes that do not exist here.
func (c *checker) claims() {
	if c.plan.Existing {
		return
	}
	for _, claim := range c.app.Claims() {
		name, byDefault := claim.Class()
		if byDefault || name == "" || name == standardClass {
			continue
		}
		class, brought := c.app.StorageClass(name)
		switch next := "name no class in the manifests of the test, or class " + standardClass; {
		case !brought:
			c.stops(claim.Manifest, nil, next, "it asks for a volume of StorageClass %s, which is created by nobody", name)
		case class.Provisioner != "kubernetes.io/no-provisioner" && class.Provisioner != workloads.LocalPathProvisioner && !c.app.Brings("CSIDriver", class.Provisioner):
			c.stops(claim.Manifest, nil, next, "it asks for a volume of StorageClass %s, whose provisioner %s is brought by nobody", name, class.Provisioner)
		}
	}
}

// autoscaler notes an autoscaler that sees no metrics.
func (c *checker) autoscaler(m app.Manifest) {
	if m.Object.GetKind() != "HorizontalPodAutoscaler" || c.plan.Existing || c.app.Serves("metrics.k8s.io") {
		return
	}
	c.notes(m, nil, "add metrics-server with --before to test with it", "nobody serves metrics, so that it does not scale")
}

// paused finds a Deployment whose controller makes no pods: of one that is paused when it is created, it makes none. Fewer than no pods cannot be made.
func (c *checker) paused(m app.Manifest) {
	if n, _, _ := unstructured.NestedInt64(m.Object.Object, "spec", "replicas"); n < 0 && !isCustom(m) {
		c.stops(m, []any{"spec", "replicas"}, "have 0 or more", "there cannot be %d", n)
	}
	if is, _, _ := unstructured.NestedBool(m.Object.Object, "spec", "paused"); is && m.Object.GetKind() == "Deployment" {
		c.stops(m, []any{"spec", "paused"}, "take it out for the test", "of a Deployment that is paused when it is created, no pod is made")
	}
}
