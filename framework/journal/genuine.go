package journal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/journal/field"
)

// settable are the fields that a Set may be about, by group, resource and subresource. A field that ends in "/" stands for all below it.
//
// A journal comes from the cluster: whoever may write ConfigMaps in holdfast's namespace decides what stands in it, and an administrator heals with
// rights that he has not. Without this list he could have, for instance, a ClusterRole changed.
var settable = map[string][]string{
	"/nodes/":                 {"/spec/unschedulable", "/metadata/labels/", "/metadata/annotations/holdfast.dev~1run"},
	"apps/deployments/":       {"/spec/replicas", templateNotes},
	"apps/statefulsets/":      {"/spec/replicas", templateNotes},
	"apps/deployments/scale":  {"/spec/replicas"},
	"apps/statefulsets/scale": {"/spec/replicas"},
}

var templateNotes = Pointer("spec", "template", "metadata", "annotations", restartedAt)

// genuine returns an error for an entry that no holdfast writes.
func (e Entry) genuine() error {
	switch {
	case e.Object.Group == "" && e.Object.Resource == "secrets":
		return fmt.Errorf("a journal is never about a Secret: %w", errNoEntry)
	case !slices.Contains([]Action{Set, Evict, Command}, e.Action):
		return fmt.Errorf("action %q is unknown: %w", e.Action, errNoEntry)
	case e.Action != Set:
		return nil
	}
	fields := settable[e.Object.Group+"/"+e.Object.Resource+"/"+e.Object.Subresource]
	if !slices.ContainsFunc(fields, func(f string) bool { return f == e.Field || strings.HasSuffix(f, "/") && strings.HasPrefix(e.Field, f) }) {
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
