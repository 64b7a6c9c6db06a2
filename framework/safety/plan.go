package disturb

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// Plan is what a test would do to a cluster, object by object, and what it would not do.
type Plan struct {
	Cluster Cluster `json:"cluster"`
	// Runs is what else runs in the cluster, in words.
	Runs []string `json:"runs,omitempty"`
	// Steps are the faults, in the order in which they would be injected. Each is undone before the next one begins.
	Steps []Step `json:"steps"`
	// Refusals are why nothing at all would be done. Each Step has its own.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Own are the objects that holdfast creates for itself.
	Own []Own `json:"own"`
	// Notes are what a reader must know beside all that.
	Notes []string `json:"notes,omitempty"`
}

// Own are objects that holdfast creates for itself, and removes again.
type Own struct {
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace"`
	For         string `json:"for"` // what they are for
}

// Step is one fault in one workload.
type Step struct {
	Fault    string  `json:"fault"`
	Does     string  `json:"does"`
	Workload Object  `json:"workload"`
	Node     *Object `json:"node,omitempty"` // that it is done to
	// Box is how long it may last. Then it is undone, wherever it is.
	Box      metav1.Duration `json:"box"`
	Touches  []Touch         `json:"touches"`
	Refusals []Refusal       `json:"refusals,omitempty"`
	Notes    []string        `json:"notes,omitempty"`
	// Of is the fault of that name.
	Of catalogue.Fault `json:"-"`

	target  *Workload
	node    *corev1.Node
	victims []corev1.Pod // that end, or may end
}

// Goes reports whether a step would be done.
func (p Plan) Goes(s Step) bool { return len(p.Refusals) == 0 && len(s.Refusals) == 0 }

// Refused reports whether anything would not be done.
func (p Plan) Refused() bool {
	return len(p.Refusals) > 0 || len(p.Steps) == 0 || slices.ContainsFunc(p.Steps, func(s Step) bool { return len(s.Refusals) > 0 })
}

// namespaces are those of the pods that end, without repetitions and in order.
func (s *Step) namespaces() (all []string) {
	for _, p := range s.victims {
		all = append(all, p.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ending are the workloads whose pods end, with their pods. A pod whose controller is neither a Deployment nor a StatefulSet is in none.
func (s *sight) ending() (all []ending) {
	for _, p := range s.step.victims {
		w := s.ownerOf(p)
		if w == nil {
			continue
		}
		i := slices.IndexFunc(all, func(e ending) bool { return e.Workload == w })
		if i < 0 {
			i, all = len(all), append(all, ending{Workload: w})
		}
		all[i].victims = append(all[i].victims, p)
	}
	slices.SortFunc(all, func(a, b ending) int { return cmp.Compare(a.String(), b.String()) })
	return all
}

// ending is a workload with those of its pods that end.
type ending struct {
	*Workload
	victims []corev1.Pod
}
