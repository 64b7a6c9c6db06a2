package journal

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-ha/holdfast/framework/fault/journal/field"
)

// settable are the fields that a Set may be about, by the kind of the object, to the letter: a version such as "v1/namespaces/x" would lead to another
// kind. A field that ends in "/" stands for all below it.
//
// A journal comes from the cluster: whoever may write ConfigMaps in holdfast's namespace decides what stands in it, and an administrator heals with
// rights that he has not. Without this list he could have, for instance, a ClusterRole changed.
var settable = map[Object][]string{
	{Version: "v1", Resource: "nodes"}: {"/spec/unschedulable", "/metadata/labels/", "/metadata/annotations/holdfast.dev~1run"},

	{Group: "apps", Version: "v1", Resource: "deployments"}:                        {"/spec/replicas", templateNotes},
	{Group: "apps", Version: "v1", Resource: "statefulsets"}:                       {"/spec/replicas", templateNotes},
	{Group: "apps", Version: "v1", Resource: "deployments", Subresource: "scale"}:  {"/spec/replicas"},
	{Group: "apps", Version: "v1", Resource: "statefulsets", Subresource: "scale"}: {"/spec/replicas"},
}

// Settable reports whether an object is of a kind of which a journal sets fields.
func (o Object) Settable() bool {
	return len(settable[o.kind()]) > 0
}

// kind is an object without what tells it from others of its kind.
func (o Object) kind() Object {
	o.Namespace, o.Name = "", ""
	return o
}

var templateNotes = Pointer("spec", "template", "metadata", "annotations", restartedAt)

// genuine returns an error for an entry that no holdfast writes.
func (e Entry) genuine() error {
	switch {
	case strings.ContainsFunc(fmt.Sprint(e.What, e.NoUndo, e.Object, e.Field, e.UID), unicode.IsControl):
		return fmt.Errorf("it has control characters in it, so that what is printed could look like other lines: %w", errNoEntry)
	case e.Object.Group == "" && e.Object.Resource == "secrets":
		return fmt.Errorf("a journal is never about a Secret: %w", errNoEntry)
	case !slices.Contains([]Action{Set, Evict, Command}, e.Action):
		return fmt.Errorf("action %q is unknown: %w", e.Action, errNoEntry)
	case e.Action == Evict && (e.Object != pod(e.Object.Namespace, e.Object.Name) || e.NoUndo == ""):
		return fmt.Errorf("only a pod is evicted, and that is not undone: %w", errNoEntry)
	case e.Action == Command && (first(e.Run) == "" || e.NoUndo == "" && first(e.RunUndo) == ""):
		return fmt.Errorf("it runs no command, or one that is empty: %w", errNoEntry)
	case e.Action != Set:
		return nil
	}
	if !slices.ContainsFunc(settable[e.Object.kind()], func(f string) bool { return f == e.Field || strings.HasSuffix(f, "/") && strings.HasPrefix(e.Field, f) }) {
		return fmt.Errorf("no holdfast changes %s of %s: %w", e.Field, e.Object, errNoEntry)
	}
	if e.NoUndo != "" {
		return nil
	}
	undo, err := field.Restoring(e.UID, e.Field, e.Ours, e.Before)
	if err != nil || !slices.EqualFunc(undo, e.Undo, func(a, b field.Operation) bool {
		return a.Op == b.Op && a.Path == b.Path && string(a.Value) == string(b.Value)
	}) {
		return fmt.Errorf("its undo is not that of its change: %w", errNoEntry)
	}
	return nil
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// genuine returns an error for a fingerprint that no holdfast takes: a healer reads what it is of, and shows what differs. It is of all nodes, or
// of what an entry needs.
func (s snapshot) genuine(entries []Entry) error {
	for _, e := range entries {
		if slices.Contains(touched(e.Object, e.Action), s.Of) {
			return nil
		}
	}
	if s.Of == allNodes {
		return nil
	}
	return fmt.Errorf("the fingerprint of %s belongs to no change: %w", s.Of, errNoEntry)
}
