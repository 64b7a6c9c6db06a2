package nights

import "slices"

// Course is the nights of a line, in the order of time. Nights whose time is unknown are in none.
type Course struct {
	Line      Line
	Nights    []*Night
	Scenarios []string // the names of all scenarios that any of the nights has on the line, sorted
}

// Courses sorts the nights into lines, in the order in which these begin. A night whose scenarios ran under several conditions is in
// several.
func (all *Nights) Courses() (list []Course) {
	for i := range all.List {
		n := &all.List[i]
		if n.At.IsZero() {
			continue
		}
		for j := range n.Scenarios {
			s := &n.Scenarios[j]
			at := slices.IndexFunc(list, func(c Course) bool { return c.Line == s.Line })
			if at < 0 {
				at = len(list)
				list = append(list, Course{Line: s.Line})
			}
			list[at].add(n, s.Name)
		}
	}
	return list
}

func (c *Course) add(n *Night, scenario string) {
	if last := len(c.Nights) - 1; last < 0 || c.Nights[last] != n {
		c.Nights = append(c.Nights, n)
	}
	if at, there := slices.BinarySearch(c.Scenarios, scenario); !there {
		c.Scenarios = slices.Insert(c.Scenarios, at, scenario)
	}
}
