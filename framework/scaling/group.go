package scaling

import (
	"cmp"
	"maps"
	"slices"
)

// Group is measurements of clusters that differ in one size. Where both sizes grow, a slope is that of neither.
type Group struct {
	Size    string // what differs: nodes or pods
	Fixed   string // what does not: "1,000 pods"
	members []Measurement
	of      func(Measurement) int
}

// Groups are the groups of at least two sizes, those over nodes first, and then by what is fixed.
func Groups(all []Measurement) []Group {
	nodes, pods := func(m Measurement) int { return m.Nodes }, func(m Measurement) int { return m.Pods }
	return append(groups(all, "nodes", nodes, "pod", pods), groups(all, "pods", pods, "node", nodes)...)
}

func groups(all []Measurement, size string, of func(Measurement) int, what string, other func(Measurement) int) (list []Group) {
	byFixed := make(map[int][]Measurement)
	for _, m := range all {
		byFixed[other(m)] = append(byFixed[other(m)], m)
	}
	for _, n := range slices.Sorted(maps.Keys(byFixed)) {
		members := byFixed[n]
		if slices.ContainsFunc(members, func(m Measurement) bool { return of(m) != of(members[0]) }) {
			list = append(list, Group{Size: size, Fixed: fixed(n, what), members: members, of: of})
		}
	}
	return list
}

// Courses are the figures of the group over its size.
func (g Group) Courses() []Course { return clusterCourses(g.members, g.of) }

// Largest is the group with the most measurements; the first of several.
func Largest(all []Group) (largest Group) {
	return slices.MaxFunc(all, func(a, b Group) int { return cmp.Compare(len(a.members), len(b.members)) })
}

// fixed is a number of nodes or pods, as it is written in a table.
func fixed(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(float64(n)) + " " + what
}
