package disturb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The owner's key: a label of a namespace or of a workload. A workload's own label counts before that of its namespace, and every other
// value than Allowed refuses.
const (
	KeyLabel = "holdfast.dev/disturb"
	Allowed  = "allowed"
	// FaultsKey is an annotation beside the label, which names the faults that the owner allows. Without it, the label allows all of them.
	FaultsKey = "holdfast.dev/disturb-faults"
)

var twoKeys = Rule{
	Number: 3, ID: "two-keys",
	Promise: "nothing is disturbed without the operator's --disturb and its owner's label " + KeyLabel + ": " + Allowed + ", for the faults that its annotation " + FaultsKey + " names, if there is one",
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
		if why := s.closed(p.ObjectMeta); why != "" {
			s.refuse(objectOf(p), labelling("namespace "+p.Namespace), "%s", why)
		}
	}
	if n := s.step.node; n != nil {
		if value, has := n.Labels[KeyLabel]; has && value != Allowed {
			s.refuse(nodeObject(n), "ask its owner", "its label %s is %q", KeyLabel, value)
		} else if why := s.faultless(n.ObjectMeta, "its own"); why != "" {
			s.refuse(nodeObject(n), "ask its owner", "%s", why)
		}
	}
}

// locked refuses if a workload may not be disturbed.
func (s *sight) locked(w *Workload) {
	if why := s.closed(w.meta); why != "" {
		s.refuse(w.Object, labelling(fmt.Sprintf("-n %s %s/%s", w.Namespace, resources[w.Kind], w.Name)), "%s", why)
	}
}

func labelling(what string) string {
	return fmt.Sprintf("its owner can allow it: kubectl label %s %s=%s", what, KeyLabel, Allowed)
}

// closed says why an object in a namespace may not be disturbed by the step's fault; empty: it may. The annotation counts that is where the label is,
// and the object's own in any case.
func (s *sight) closed(o metav1.ObjectMeta) string {
	if value, has := o.Labels[KeyLabel]; has {
		return cmp.Or(closed(value, true, "its own"), s.faultless(o, "its own"))
	}
	n := s.namespaces[o.Namespace]
	if n == nil {
		return "the labels of its namespace could not be read"
	}
	value, has := n.Labels[KeyLabel]
	return cmp.Or(closed(value, has, "its namespace's"), s.faultless(n.ObjectMeta, "its namespace's"), s.faultless(o, "its own"))
}

// faultless says why an annotation does not allow the step's fault; empty: it does, or there is none.
func (s *sight) faultless(o metav1.ObjectMeta, whose string) string {
	names, has := o.Annotations[FaultsKey]
	separated := func(r rune) bool { return r == ',' || r == ' ' }
	if !has || slices.Contains(strings.FieldsFunc(names, separated), s.fault().Name) {
		return ""
	}
	return fmt.Sprintf("%s annotation %s is %q, and does not name %s", whose, FaultsKey, names, s.fault().Name)
}

// closed says why a value of the owner's label refuses; empty: it allows. Whose is "its own" or "its namespace's".
func closed(value string, has bool, whose string) string {
	switch {
	case !has:
		return "neither it nor its namespace has the label " + KeyLabel
	case value != Allowed:
		return fmt.Sprintf("%s label %s is %q, and not %q", whose, KeyLabel, value, Allowed)
	}
	return ""
}
