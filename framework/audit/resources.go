package audit

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// resources maps the kinds that steps change, and the kinds that make up a policy, to their API resources.
var resources = map[string]schema.GroupVersionResource{
	Deployment:      {Group: "apps", Version: "v1", Resource: "deployments"},
	StatefulSet:     {Group: "apps", Version: "v1", Resource: "statefulsets"},
	kindBudget:      {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	kindAutoscaler:  {Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
	"Service":       {Version: "v1", Resource: "services"},
	"ConfigMap":     {Version: "v1", Resource: "configmaps"},
	"EndpointSlice": {Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	kindPolicy:      {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	kindBinding:     {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
}

// The kinds that make up a Policy.
const (
	kindPolicy  = "ValidatingAdmissionPolicy"
	kindBinding = "ValidatingAdmissionPolicyBinding"
)

// PolicyKinds returns the kinds of the objects that Policy writes, in the order in which they have to be created.
func PolicyKinds() []string { return []string{kindPolicy, kindBinding} }

// ResourceOf returns the API resource of a kind that a Step changes or that Policy writes. A Pod, which a step may delete, has
// none here: its controller creates it.
func ResourceOf(kind string) (at schema.GroupVersionResource, known bool) {
	at, known = resources[kind]
	return at, known
}

// API returns the patch type in the API's own terms. Any other value, also the empty one of a step that is no Patch, is a
// strategic merge patch, which is what kubectl sends for `rollout restart`.
func (p PatchType) API() types.PatchType {
	switch p {
	case JSONPatch:
		return types.JSONPatchType
	case MergePatch:
		return types.MergePatchType
	case StrategicPatch:
	}
	return types.StrategicMergePatchType
}
