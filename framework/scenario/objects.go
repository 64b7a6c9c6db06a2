package scenario

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/workloads"
)

// Namespace is the namespace of the scenario. No two scenarios on a cluster share one.
func (s Spec) Namespace() string {
	return workloads.NamespacePrefix + strings.ReplaceAll(s.Name, "/", "-")
}

// Backends are the backends that a scenario deploys: one, or one for each trial. Trials share nodes and nothing else: each has
// a name of its own, and so a selector of its own.
func (s Spec) Backends() []workloads.Backend {
	if s.Trials == 0 {
		return []workloads.Backend{s.Backend}
	}
	name := s.Backend.WithDefaults().Name
	list := make([]workloads.Backend, s.Trials)
	for i := range list {
		list[i] = s.Backend
		list[i].Name = fmt.Sprintf("%s-%d", name, i+1)
		list[i].StatefulSet = s.Backend.StatefulSet || i >= s.Trials-s.StatefulSets
	}
	return list
}

// LoadWorkload are the load workers as a workload: one on the load node, and one on each of the given nodes.
func (s Spec) LoadWorkload(also []string) workloads.Load {
	return workloads.Load{AlsoOn: also, Resources: workloads.Resources{CPU: s.LoadWorkers.CPU, CPULimit: s.LoadWorkers.CPU}}
}
