package disturb

import "k8s.io/apimachinery/pkg/types"

// Object names an object of a cluster.
type Object struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// String is "Deployment shop/web" or "Node w1".
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// The kinds that plans name.
const (
	KindDeployment  = "Deployment"
	KindStatefulSet = "StatefulSet"
	KindPod         = "Pod"
	KindNode        = "Node"
	KindNamespace   = "Namespace"
	KindCluster     = "Cluster"
)

// Refusal is why something is not done.
type Refusal struct {
	Rule   int    `json:"rule"` // its number in Rules
	Object Object `json:"object"`
	Reason string `json:"reason"`
	Next   string `json:"next"` // what the reader can do about it
}

// Touch is one write to an object of the cluster.
type Touch struct {
	Object Object `json:"object"`
	// Verb, Group, Resource and Subresource are those of the request, as the API server's audit log has them.
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	// Does says what is done. Field is what is changed, Before its value, and Ours the values that it gets, in order.
	Does   string   `json:"does"`
	Field  string   `json:"field,omitempty"`
	Before string   `json:"before,omitempty"`
	Ours   []string `json:"ours,omitempty"`
	// Undo says how it is undone, by the same request unless nothing is to be undone.
	Undo string `json:"undo"`
	// Needs are the permissions to do and to undo it.
	Needs []string `json:"needs"`
}
