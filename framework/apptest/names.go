package apptest

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// namesOf are the names of workloads as parts of names of scenarios, which have no dots and no two dashes together. No two are the same, and what can
// keep its name does.
func namesOf(workloads []app.Workload) map[string]string {
	names, taken := map[string]string{}, map[string]bool{}
	plain := func(name string) string {
		return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' }), "-")
	}
	for _, w := range workloads {
		if plain(w.Name) == w.Name {
			names[w.Name], taken[w.Name] = w.Name, true
		}
	}
	for _, w := range workloads {
		if names[w.Name] != "" {
			continue
		}
		name := plain(w.Name)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", plain(w.Name), n)
		}
		names[w.Name], taken[name] = name, true
	}
	return names
}
