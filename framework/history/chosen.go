package history

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// chosenPods are the pods of a namespace that match a selector.
type chosenPods struct {
	namespace string
	selector  map[string]string
	pods      map[string]Pod // by UID
	sorted    []Pod          // nil: they have changed since
	changes   int
}

// keyOf is a text that only one namespace and selector have.
func keyOf(namespace string, selector map[string]string) string {
	var text strings.Builder
	text.WriteString(namespace)
	for _, name := range slices.Sorted(maps.Keys(selector)) {
		text.WriteString("\x00" + name + "\x00" + selector[name]) // no name and no value of a label contains a zero
	}
	return text.String()
}

// take notes an event of a pod, whose labels may have changed.
func (c *chosenPods) take(p Pod) {
	if p.Change != Deleted && p.Namespace == c.namespace && Selects(c.selector, p.Labels) {
		c.pods[p.UID], c.sorted = p, nil
		c.changes++
		return
	}
	if _, was := c.pods[p.UID]; was {
		delete(c.pods, p.UID)
		c.sorted = nil
		c.changes++
	}
}

// list returns the pods, sorted by name, in a slice of the caller's own.
func (c *chosenPods) list() []Pod {
	if c.sorted == nil {
		c.sorted = slices.SortedFunc(maps.Values(c.pods), func(a, b Pod) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
		})
	}
	return slices.Clone(c.sorted)
}
