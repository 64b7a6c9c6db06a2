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
	for _, keeps := range []bool{true, false} {
		for _, w := range workloads {
			name := plain(w.Name)
			if names[w.Name] != "" || (name == w.Name) != keeps {
				continue
			}
			for n := 2; taken[name]; n++ {
				name = fmt.Sprintf("%s-%d", plain(w.Name), n)
			}
			names[w.Name], taken[name] = name, true
		}
	}
	return names
}
