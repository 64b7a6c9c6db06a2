package chart

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Hook is an object that Helm applies at certain moments of a release, and not with the other objects.
//
// Source: https://helm.sh/docs/topics/charts_hooks/
type Hook struct {
	// Events are the moments, such as those below.
	Events []string
	// Weight orders the hooks of one moment, the lowest first.
	Weight int
	// DeleteSucceeded says that the object is deleted when all hooks of its moment have succeeded.
	DeleteSucceeded bool
}

// The moments of an installation. Others are those of an upgrade, a rollback, a deletion and a test.
const (
	PreInstall  = "pre-install"
	PostInstall = "post-install"
)

const (
	eventAnnotation  = "helm.sh/hook"
	weightAnnotation = "helm.sh/hook-weight"
	deleteAnnotation = "helm.sh/hook-delete-policy"
)

// HookOf reads an object's annotations. Not is: it is an ordinary object.
func HookOf(o metav1.Object) (h Hook, is bool) {
	notes := o.GetAnnotations()
	events, is := notes[eventAnnotation]
	if !is {
		return h, false
	}
	h.Events = list(events)
	h.Weight, _ = strconv.Atoi(strings.TrimSpace(notes[weightAnnotation])) // Helm takes what is no number as 0, too
	h.DeleteSucceeded = slices.Contains(list(notes[deleteAnnotation]), "hook-succeeded")
	return h, true
}

// RunsAt reports whether the hook runs at a moment.
func (h Hook) RunsAt(event string) bool { return slices.Contains(h.Events, event) }

// list are the words of an annotation.
func list(text string) (words []string) {
	for word := range strings.SplitSeq(text, ",") {
		words = append(words, strings.ToLower(strings.TrimSpace(word)))
	}
	return words
}
