package app

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ranks are the kinds that must exist before others, in the order of their creation, as Helm and kubectl's users order them. Kinds that
// are not listed come after these. What intercepts requests comes last.
var ranks = map[string]int{
	"CustomResourceDefinition": 1, "Namespace": 2, "PriorityClass": 3, "StorageClass": 3, "IngressClass": 3, "GatewayClass": 3, "RuntimeClass": 3,
	"ServiceAccount": 4, "ClusterRole": 5, "ClusterRoleBinding": 6, "Role": 5, "RoleBinding": 6, "ResourceQuota": 7, "LimitRange": 7,
	"Secret": 8, "ConfigMap": 8, "PersistentVolume": 9, "PersistentVolumeClaim": 10, "Service": 11,
	"PodDisruptionBudget": 12, "Deployment": 20, "StatefulSet": 20, "DaemonSet": 20, "Job": 21, "HorizontalPodAutoscaler": 22,
	"ValidatingWebhookConfiguration": 99, "MutatingWebhookConfiguration": 99, "APIService": 98,
}

const rankOfOthers = 15

func rank(o unstructured.Unstructured) int {
	if r, known := ranks[o.GetKind()]; known {
		return r
	}
	return rankOfOthers
}

// clusterScoped reports whether objects of a kind have no namespace. A custom resource's scope is known only to the API server, which
// ignores the namespace of a request for a resource that has none.
func clusterScoped(o unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "Namespace", "Node", "PersistentVolume", "StorageClass", "PriorityClass", "IngressClass", "GatewayClass", "RuntimeClass",
		"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "APIService", "CSIDriver",
		"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		return true
	}
	return false
}

// podSpecs are the paths of the pod template in the kinds that have one.
var podSpecs = map[string][]string{
	"Pod": {"spec"}, "Deployment": template, "StatefulSet": template, "DaemonSet": template, "ReplicaSet": template, "ReplicationController": template,
	"Job": template, "CronJob": {"spec", "jobTemplate", "spec", "template", "spec"},
}

var template = []string{"spec", "template", "spec"}

// PodSpec is the pod spec of the object and its path; nil: it has none.
func (m Manifest) PodSpec() (spec map[string]any, path []string) {
	return podSpecOf(m.Object), podSpecs[m.Object.GetKind()]
}

// podSpecOf is the pod spec of an object; nil: it has none.
func podSpecOf(o unstructured.Unstructured) map[string]any {
	path, has := podSpecs[o.GetKind()]
	if !has {
		return nil
	}
	spec, _, _ := unstructured.NestedMap(o.Object, path...)
	return spec
}

// containersOf are the containers of an object's pods, init containers included.
func containersOf(o unstructured.Unstructured) (all []map[string]any) {
	spec := podSpecOf(o)
	for _, field := range containerLists {
		all = append(all, listed(spec, field)...)
	}
	return all
}

// listed are the objects of a list in an object.
func listed(in map[string]any, path ...string) (all []map[string]any) {
	list, _, _ := unstructured.NestedSlice(in, path...)
	for _, one := range list {
		if object, is := one.(map[string]any); is {
			all = append(all, object)
		}
	}
	return all
}
