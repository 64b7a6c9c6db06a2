package parts

import (
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// kind is what an item is.
type kind uint8

const (
	nothing kind = iota
	pod
	workload
	budget
	service
)

// item is an object of a record. Pods that had one name after another are one item, as their controller's next one would be.
type item struct {
	kind kind
	history.Key
}

func itemOf(of kind, namespace, name string) item {
	return item{of, history.Key{Namespace: namespace, Name: name}}
}

// groups are disjoint sets of items.
type groups struct {
	above map[item]item // towards the root of the set; a root is above itself
	size  map[item]int  // of the set, by its root
}

func (g *groups) knows(of item) bool { _, is := g.above[of]; return is }

// root represents the set of an item, which it adds if it is new.
func (g *groups) root(of item) item {
	up, known := g.above[of]
	if !known {
		g.above[of], g.size[of] = of, 1
		return of
	}
	if up == of {
		return of
	}
	root := g.root(up)
	g.above[of] = root
	return root
}

// join puts two items into one set.
func (g *groups) join(a, b item) {
	a, b = g.root(a), g.root(b)
	if a == b {
		return
	}
	if g.size[a] < g.size[b] {
		a, b = b, a
	}
	g.above[b] = a
	g.size[a] += g.size[b]
}

// lone says whether a set, given by its root, is one pod.
func (g *groups) lone(root item) bool { return root.kind == pod && g.size[root] == 1 }

// selector is one that a workload or a budget ever had.
type selector struct {
	of     item
	labels map[string]string
}

// selectors finds those that may match a pod by one of their labels.
type selectors struct {
	by  map[[3]string][]selector // by namespace, and the key and the value of one label
	all map[string][]selector    // those without labels, which match all pods of a namespace

	items map[item]bool // those that have a selector
}

func newSelectors() *selectors {
	return &selectors{by: make(map[[3]string][]selector), all: make(map[string][]selector), items: make(map[item]bool)}
}

func (s *selectors) add(of item, labels map[string]string) {
	s.items[of] = true
	key, found := [3]string{of.Namespace}, false
	for k, v := range labels {
		if !found || k < key[1] {
			key[1], key[2], found = k, v, true
		}
	}
	same := func(list []selector) bool {
		return slices.ContainsFunc(list, func(had selector) bool { return had.of == of && maps.Equal(had.labels, labels) })
	}
	switch {
	case found && !same(s.by[key]):
		s.by[key] = append(s.by[key], selector{of, labels})
	case !found && !same(s.all[of.Namespace]):
		s.all[of.Namespace] = append(s.all[of.Namespace], selector{of, labels})
	}
}

// match visits the items that select a pod.
func (s *selectors) match(namespace string, labels map[string]string, visit func(item)) {
	for k, v := range labels {
		for _, one := range s.by[[3]string{namespace, k, v}] {
			if history.Selects(one.labels, labels) {
				visit(one.of)
			}
		}
	}
	for _, one := range s.all[namespace] {
		visit(one.of)
	}
}

// groupsOf puts the pods of a record together with what selects them. A selector with expressions counts with its labels alone, which
// match more.
func groupsOf(events []history.Event) *groups {
	g := &groups{above: make(map[item]item), size: make(map[item]int)}
	by := newSelectors()
	for i := range events {
		switch e := &events[i]; {
		case e.Workload != nil:
			of, _ := owner(e)
			g.root(of)
			by.add(of, e.Workload.Selector)
		case e.Budget != nil:
			of, _ := owner(e)
			g.root(of)
			by.add(of, e.Budget.Selector)
		case e.Slice != nil:
			of, _ := owner(e)
			g.root(of)
			for _, end := range e.Slice.Endpoints {
				if end.Pod != "" {
					g.join(of, itemOf(pod, of.Namespace, end.Pod))
				}
			}
		}
	}
	g.joinSelected(events, by)
	return g
}

// joinSelected joins each pod with those whose selectors select it.
func (g *groups) joinSelected(events []history.Event, by *selectors) {
	last := make(map[item]map[string]string) // the labels that were matched last
	for i := range events {
		p := events[i].Pod
		if p == nil {
			continue
		}
		of := itemOf(pod, p.Namespace, p.Name)
		if had, known := last[of]; known && maps.Equal(had, p.Labels) {
			continue
		}
		last[of] = p.Labels
		g.root(of)
		by.match(p.Namespace, p.Labels, func(owner item) { g.join(of, owner) })
	}
}
