package audit

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// resources are those of what steps change, and of what a policy is made of, by kind.
var resources = map[string]schema.GroupVersionResource{
	Deployment:            {Group: "apps", Version: "v1", Resource: "deployments"},
	StatefulSet:           {Group: "apps", Version: "v1", Resource: "statefulsets"},
	"PodDisruptionBudget": {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	"Service":             {Version: "v1", Resource: "services"},
	"ConfigMap":           {Version: "v1", Resource: "configmaps"},
	"EndpointSlice":       {Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	kindPolicy:            {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	kindBinding:           {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
}

// The kinds that a Policy is made of.
const (
	kindPolicy  = "ValidatingAdmissionPolicy"
	kindBinding = "ValidatingAdmissionPolicyBinding"
)

// PolicyKinds are the kinds of the objects that Policy writes, in the order in which they are to be created.
func PolicyKinds() []string { return []string{kindPolicy, kindBinding} }

// ResourceOf is where the API has the objects of a kind that a Step changes or that Policy writes. A Pod, which a step may
// name as well, is nothing to change through the API: its controller makes it.
func ResourceOf(kind string) (at schema.GroupVersionResource, known bool) {
	at, known = resources[kind]
	return at, known
}

// API is the patch type in the API's own words. A step of any other verb than Patch has none, and its body, if it is sent
// as a patch, is a strategic one: that is what kubectl makes of it.
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
