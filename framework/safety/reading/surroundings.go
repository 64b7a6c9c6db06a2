package reading

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// kedaGroup is the API group of KEDA.
const kedaGroup = "keda.sh"

// surroundings reads autoscalers, and objects of other chaos tools.
func (v *reading) surroundings() {
	n := v.request.Namespace
	list(v, "horizontalpodautoscalers", n, v.Client.AutoscalingV2().HorizontalPodAutoscalers(n), func(h *autoscalingv2.HorizontalPodAutoscaler) {
		v.Autoscalers = append(v.Autoscalers, ofHPA(h))
	})
	v.clusterAutoscaler()
	served, err := v.served()
	if err != nil {
		v.refused("chaos", "", err)
		return
	}
	for _, at := range served {
		if at.Group == kedaGroup {
			v.scaledObjects(at.GroupVersionResource)
		} else {
			v.chaos(at)
		}
	}
}

func ofHPA(h *autoscalingv2.HorizontalPodAutoscaler) disturb.Autoscaler {
	a := disturb.Autoscaler{
		Object: disturb.Object{Kind: "HorizontalPodAutoscaler", Namespace: h.Namespace, Name: h.Name, UID: h.UID},
		Of:     disturb.Object{Kind: h.Spec.ScaleTargetRef.Kind, Namespace: h.Namespace, Name: h.Spec.ScaleTargetRef.Name},
	}
	if has, wants := h.Status.CurrentReplicas, h.Status.DesiredReplicas; has != wants {
		a.Scaling = fmt.Sprintf("from %d replicas to %d", has, wants)
	}
	return a
}

// atWork finds in the status of the cluster autoscaler that it adds or removes nodes. The status was free text, and is YAML since 1.30.
var atWork = regexp.MustCompile(`(?is)(scale-?(?:up|down)):\s*(?:status:\s*)?InProgress`)

// clusterAutoscaler reads whether nodes are being added or removed. A cluster without that ConfigMap has no cluster autoscaler, or one that
// marks nodes by taints, as Karpenter does.
func (v *reading) clusterAutoscaler() {
	status, err := v.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(v.ctx, existing.AutoscalerStatus, metav1.GetOptions{})
	if isNotFound(err) {
		return
	}
	if err != nil {
		v.refused("autoscaler", "", err)
		return
	}
	for _, text := range status.Data {
		if found := atWork.FindStringSubmatch(text); found != nil {
			v.NodeScaling = strings.ToLower(found[1]) + " in progress"
		}
	}
}

// served are the resources of KEDA and of chaos tools that the cluster serves and lists.
func (v *reading) served() (all []resource, err error) {
	groups, err := v.Client.Discovery().ServerGroups()
	if err != nil {
		return nil, err
	}
	for _, g := range groups.Groups {
		if g.Name != kedaGroup && !slices.Contains(catalogue.Chaos(), g.Name) {
			continue
		}
		found, err := v.Client.Discovery().ServerResourcesForGroupVersion(g.PreferredVersion.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range found.APIResources {
			if slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") {
				all = append(all, resource{schema.GroupVersionResource{Group: g.Name, Version: g.PreferredVersion.Version, Resource: r.Name}, r.Kind})
			}
		}
	}
	return all, nil
}

type resource struct {
	schema.GroupVersionResource
	kind string
}

// definitions are kinds of chaos tools that do nothing by themselves.
var definitions = []string{"ChaosExperiment", "ChaosResult", "PhysicalMachine", "RemoteCluster"}

// chaos lists the objects of a kind of another chaos tool, in all namespaces.
func (v *reading) chaos(at resource) {
	if slices.Contains(definitions, at.kind) {
		return
	}
	list(v, "chaos", "", v.Dynamic.Resource(at.GroupVersionResource), func(u *unstructured.Unstructured) {
		v.Chaos = append(v.Chaos, disturb.Object{Kind: at.kind, Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID()})
	})
}

// scaledObjects lists the autoscalers of KEDA.
func (v *reading) scaledObjects(at schema.GroupVersionResource) {
	if at.Resource != "scaledobjects" {
		return
	}
	n := v.request.Namespace
	list(v, "scaledobjects", n, v.Dynamic.Resource(at).Namespace(n), func(u *unstructured.Unstructured) {
		kind, _, _ := unstructured.NestedString(u.Object, "spec", "scaleTargetRef", "kind")
		name, _, _ := unstructured.NestedString(u.Object, "spec", "scaleTargetRef", "name")
		v.Autoscalers = append(v.Autoscalers, disturb.Autoscaler{
			Object: disturb.Object{Kind: "ScaledObject", Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID()},
			Of:     disturb.Object{Kind: cmp.Or(kind, disturb.KindDeployment), Namespace: n, Name: name}, // KEDA's default
		})
	})
}
