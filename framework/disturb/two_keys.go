package disturb

import "fmt"

// The owner's key: a label of a namespace or of a workload. A workload's own label counts before that of its namespace, and every other
// value than Allowed refuses.
const (
	KeyLabel = "holdfast.dev/disturb"
	Allowed  = "allowed"
)

var twoKeys = Rule{
	Number: 3, ID: "two-keys",
	Promise: "nothing is disturbed without the operator's --disturb and its owner's label " + KeyLabel + ": " + Allowed,
	run: func(s *sight) {
		if !s.Disturb {
			s.refuse(s.cluster(), "give --disturb", "the operator has not said --disturb")
		}
	},
	step: checkTwoKeys,
}

func checkTwoKeys(s *sight) {
	s.locked(s.step.target)
	for _, e := range s.ending() {
		if e.Workload != s.step.target {
			s.locked(e.Workload)
		}
	}
	for _, p := range s.step.victims {
		if s.ownerOf(p) != nil || !s.listed(p.Namespace) { // rule 11 refuses the latter
			continue
		}
		if why := s.closed(p.Namespace, p.Labels); why != "" {
			s.refuse(objectOf(p), labelling("namespace "+p.Namespace), "%s", why)
		}
	}
	if n := s.step.node; n != nil {
		if value, has := n.Labels[KeyLabel]; has && value != Allowed {
			s.refuse(nodeObject(n), "ask its owner", "its label %s is %q", KeyLabel, value)
		}
	}
}

// locked refuses if a workload may not be disturbed.
func (s *sight) locked(w *Workload) {
	if why := s.closed(w.Namespace, w.meta.Labels); why != "" {
		s.refuse(w.Object, labelling(fmt.Sprintf("-n %s %s/%s", w.Namespace, resources[w.Kind], w.Name)), "%s", why)
	}
}

func labelling(what string) string {
	return fmt.Sprintf("its owner can allow it: kubectl label %s %s=%s", what, KeyLabel, Allowed)
}

// closed says why what is in a namespace and has some labels may not be disturbed; empty: it may.
func (v *view) closed(namespace string, labels map[string]string) string {
	if value, has := labels[KeyLabel]; has {
		return Closed(value, true, "its own")
	}
	n := v.namespaces[namespace]
	if n == nil {
		return "the labels of its namespace could not be read"
	}
	value, has := n.Labels[KeyLabel]
	return Closed(value, has, "its namespace's")
}

// Closed says why a value of the owner's label refuses; empty: it allows. Whose is "its own" or "its namespace's".
func Closed(value string, has bool, whose string) string {
	switch {
	case !has:
		return "neither it nor its namespace has the label " + KeyLabel
	case value != Allowed:
		return fmt.Sprintf("%s label %s is %q, and not %q", whose, KeyLabel, value, Allowed)
	}
	return ""
}
