package manifests

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// placement finds a node that only another cluster has: by its name, its labels or its devices. A DaemonSet has pods where it can. Whether the pods
// have room is for the scheduler to say.
func (c *checker) placement(p pods) {
	const leave = "leave it out of the manifests of the test"
	for _, one := range p.containers() {
		for _, name := range slices.Sorted(maps.Keys(one.Resources.Limits)) {
			if limit := one.Resources.Limits[name]; strings.Contains(string(name), "/") && !limit.IsZero() {
				c.stops(p.Manifest, below(one.path, "resources", "limits", string(name)), leave, "container %s needs %s, and no node has it", one.Name, name)
			}
		}
	}
	replicas, has, _ := unstructured.NestedInt64(p.Object.Object, "spec", "replicas")
	switch field := "affinity"; {
	case p.spec.NodeName != "":
		c.stops(p.Manifest, below(p.path, "nodeName"), leave, "%s is a node of another cluster", p.spec.NodeName)
	case p.Object.GetKind() == "DaemonSet", has && replicas == 0, slices.ContainsFunc(c.plan.Nodes, p.admitted):
	default:
		if len(p.spec.NodeSelector) > 0 {
			field = "nodeSelector"
		}
		c.stops(p.Manifest, below(p.path, field), leave+", or ask for labels that its nodes have, such as a "+corev1.LabelTopologyZone, "no node of the cluster has these labels")
	}
}

// admitted reports whether a node may take the pods, by its labels and taints.
func (p pods) admitted(n corev1.Node) bool {
	matches, _ := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: p.spec}).Match(&n) // a term that cannot be parsed matches no node, as in kube-scheduler
	_, tainted := scheduling.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, p.spec.Tolerations, nil, false)
	return matches && !tainted
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

// drivers finds a volume of a CSI driver that the application does not bring.
func (c *checker) drivers(p pods) {
	for i, v := range p.spec.Volumes {
		if v.CSI != nil && !c.plan.Existing && !c.app.Brings("CSIDriver", v.CSI.Driver) {
			c.stops(p.Manifest, below(p.path, "volumes", i, "csi", "driver"), "put an emptyDir or a PersistentVolumeClaim in its place in the manifests of the test, or add the driver with --before",
				"no manifest brings CSI driver %s", v.CSI.Driver)
		}
	}
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
			c.stops(claim.Manifest, nil, next, "it asks for a volume of StorageClass %s, which no manifest creates", name)
		case class.Provisioner != "kubernetes.io/no-provisioner" && class.Provisioner != workloads.LocalPathProvisioner && !c.app.Brings("CSIDriver", class.Provisioner):
			c.stops(claim.Manifest, nil, next, "it asks for a volume of StorageClass %s, and no manifest brings its provisioner %s", name, class.Provisioner)
		}
	}
}
