package scenario

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Namespace is the namespace of the scenario. No two scenarios on a cluster share one, except those of an application, which has its
// own.
func (s Spec) Namespace() string {
	if s.App != nil {
		return s.App.Namespace
	}
	return workloads.NamespacePrefix + strings.ReplaceAll(s.Name, "/", "-")
}

// LoadNamespace is the namespace of the scenario's load workers and of what they need. What holds in the namespace under test, such as a quota, a
// webhook or a level of Pod Security, does not hold for them, and they take no room there.
func (s Spec) LoadNamespace() string {
	name := workloads.LoadPrefix + strings.TrimPrefix(s.Namespace(), workloads.NamespacePrefix)
	if len(name) <= maxNamespace {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return fmt.Sprintf("%s-%08x", name[:maxNamespace-9], h.Sum32())
}

// Controllers are the controllers of the pods under test. The first is the one into which faults are injected.
func (s Spec) Controllers() (all []workloads.Controller) {
	for _, b := range s.Backends() {
		all = append(all, b.Controllers()...)
	}
	if s.App == nil {
		return all
	}
	for _, w := range s.App.Workloads {
		if w.Name == s.Tested {
			all = append([]workloads.Controller{w.Controller}, all...)
		} else {
			all = append(all, w.Controller)
		}
	}
	return all
}

// Services are the Services that lead to a workload of an application, as fault.Target has them.
func (s Spec) Services(workload string) []string {
	if s.App == nil {
		return nil
	}
	for _, w := range s.App.Workloads {
		if w.Name == workload {
			return append([]string{}, w.Services...)
		}
	}
	return []string{}
}

// Names reports whether good answers on a lane name the pods of a workload of an application: its connections lead to them, and not to a
// proxy in front of them or to what needs them.
func (s Spec) Names(lane history.Lane, workload string) bool {
	i := slices.IndexFunc(s.Load, func(l load.Lane) bool { return l.Lane == lane })
	if s.App == nil || i < 0 {
		return true
	}
	own := s.Services(workload)
	among := func(services []string) bool {
		return slices.ContainsFunc(services, func(name string) bool { return slices.Contains(own, name) })
	}
	if front, passes := s.Fronts[lane]; passes {
		return among(front.Entries) && !among(front.Backends)
	}
	return among([]string{history.LanePlan{Target: s.Load[i].Target}.Service()})
}

// Backends are the backends that a scenario deploys: none if it tests an application, or one, or one on simulated nodes and one on real
// ones, or one for each trial. Trials share nodes and nothing else: each has
// a name of its own, and so a selector of its own.
func (s Spec) Backends() []workloads.Backend {
	if s.App != nil {
		return nil
	}
	if s.Simulated != nil {
		return []workloads.Backend{s.Simulated.backend(), s.Backend}
	}
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

// LoadWorkload are the load workers as a workload: on the load node, and on each of the given nodes.
func (s Spec) LoadWorkload(also []string) workloads.Load {
	return workloads.Load{Workers: s.LoadWorkers.Count, AlsoOn: also, Flows: s.App != nil, Secrets: s.secrets(), Spin: s.LoadWorkers.Spin, Resources: workloads.Resources{CPU: s.LoadWorkers.CPU, CPULimit: s.LoadWorkers.CPU}}
}

// secrets are the keys of Secrets that the requests of the load carry, by the Secret's name.
func (s Spec) secrets() map[string][]string {
	var all map[string][]string
	for _, l := range s.Load {
		for _, from := range l.Request.FromSecret {
			if all == nil {
				all = map[string][]string{}
			}
			if !slices.Contains(all[from.Name], from.Key) {
				all[from.Name] = append(all[from.Name], from.Key)
			}
		}
	}
	for _, keys := range all {
		slices.Sort(keys)
	}
	return all
}
