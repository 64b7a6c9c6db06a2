package field

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Owner is who has last changed a field, as the API server keeps it.
type Owner struct {
	Manager string
	At      time.Time
}

// Owners are the managers of a field. None: the object does not say.
//
// A manager that sets a field to the value that it has already does not become its owner, so that the owner is who has changed it.
//
// Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
func Owners(o *unstructured.Unstructured, path []string) []Owner {
	var all []managed
	for _, m := range o.GetManagedFields() {
		if m.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(m.FieldsV1.GetRawReader()) == nil {
			all = append(all, managed{m, set})
		}
	}
	elements := elementsOf(o.Object, path)
	for n := len(elements); n > 0; n-- {
		found, below := at(all, elements[:n])
		switch {
		case len(found) > 0 && (n == len(path) || !below):
			return found // of the field, or of a whole that is owned as one
		case len(found) > 0 || below:
			return nil // others own its siblings, and nobody owns it
		}
	}
	return nil
}

type managed struct {
	metav1.ManagedFieldsEntry
	set *fieldpath.Set
}

// at are the owners of exactly one path, and below is true if somebody owns a field below it.
func at(all []managed, elements []func(*fieldpath.Set) (*fieldpath.Set, bool)) (found []Owner, below bool) {
	for _, m := range all {
		set, is := m.set, false
		for _, step := range elements {
			if set, is = step(set); set == nil {
				break
			}
		}
		if is {
			o := Owner{Manager: m.Manager}
			if m.Time != nil {
				o.At = m.Time.Time
			}
			found = append(found, o)
		}
		below = below || set != nil && !set.Empty()
	}
	return found, below
}

// elementsOf are the steps from a set to the set below each token of a path. A step also says whether the element itself is a member. Where the
// object has a list, the element is found by its index, its value or its keys.
func elementsOf(object any, path []string) (steps []func(*fieldpath.Set) (*fieldpath.Set, bool)) {
	for i, token := range path {
		within, depth, err := Lookup(object, path[:i])
		if err != nil || depth < i {
			within = nil
		}
		matches := func(pe fieldpath.PathElement) bool { return pe.FieldName != nil && *pe.FieldName == token }
		if list, is := within.([]any); is {
			matches = func(pe fieldpath.PathElement) bool { return isItem(pe, list, token) }
		}
		steps = append(steps, func(set *fieldpath.Set) (below *fieldpath.Set, member bool) {
			set.Members.Iterate(func(pe fieldpath.PathElement) { member = member || matches(pe) })
			set.Children.Iterate(func(pe fieldpath.PathElement) {
				if matches(pe) {
					below, _ = set.Children.Get(pe)
				}
			})
			if below == nil && member {
				below = &fieldpath.Set{}
			}
			return below, member
		})
	}
	return steps
}

// isItem reports whether an element of a path means the item of a list at an index.
func isItem(pe fieldpath.PathElement, list []any, token string) bool {
	index, err := strconv.Atoi(token)
	if err != nil || index < 0 || index >= len(list) {
		return false
	}
	switch {
	case pe.Index != nil:
		return *pe.Index == index
	case pe.Value != nil:
		return value.Equals(*pe.Value, value.NewValueInterface(list[index]))
	case pe.Key != nil:
		item, is := list[index].(map[string]any)
		return is && !slices.ContainsFunc(*pe.Key, func(k value.Field) bool {
			return !value.Equals(k.Value, value.NewValueInterface(item[k.Name]))
		})
	}
	return false
}

// Names are the owners in words.
func Names(all []Owner) string {
	var words []string
	for _, o := range all {
		word := o.Manager
		if !o.At.IsZero() {
			word += " at " + o.At.UTC().Format(time.RFC3339)
		}
		words = append(words, word)
	}
	return strings.Join(words, " and ")
}
