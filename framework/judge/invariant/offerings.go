package invariant

import (
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// offering is what a Service offers of a workload: the names of the pods that are its ready endpoints.
type offering struct {
	service string
	// theirs are the names of the workload's pods; nil: all endpoints are.
	theirs map[string]bool
	// all says that the Service offers each ready pod of the workload. Another one, such as that of a database's primary, offers some.
	all  bool
	some int // how many it offered before anything was disturbed
}

// offerings are those of all Services of a workload.
type offerings []*offering

// servicesOf are the Services of a workload: the one of its name, which all workloads of holdfast's own have, and in a recording those
// that ever had its pods as endpoints.
func servicesOf(f *evidence.Run, key history.Key) (list offerings) {
	if f.Record.Header.Recorded == nil {
		return offerings{{service: key.Name, all: true}}
	}
	theirs := make(map[string]bool)
	names := make(map[string]bool)
	workloads := slices.DeleteFunc(f.Workloads(), func(w history.Workload) bool { return w.Namespace != key.Namespace || w.Name != key.Name })
	for _, p := range f.Timeline().Pods {
		if !slices.ContainsFunc(workloads, func(w history.Workload) bool { return w.Owns(p.Last()) }) {
			continue
		}
		theirs[p.Name] = true
		for service := range p.Endpoints {
			names[service] = true
		}
	}
	for _, service := range slices.Sorted(maps.Keys(names)) {
		list = append(list, &offering{service: service, theirs: theirs})
	}
	return list
}

// remember keeps what the Services of a recording offer before anything is disturbed.
func (list offerings) remember(s *history.State, key history.Key) {
	w := s.Workloads[key]
	ready := s.ReadyPods(w.Pods())
	for _, o := range list {
		if o.theirs != nil {
			o.some = len(o.now(s, key))
			o.all = o.some == len(ready)
		}
	}
}

// now are the pods that the Service offers.
func (o *offering) now(s *history.State, key history.Key) map[string]bool {
	offered := make(map[string]bool)
	for _, slice := range s.Slices {
		if slice.Namespace != key.Namespace || slice.Service != o.service {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.Ready && (o.theirs == nil || o.theirs[e.Pod]) {
				offered[e.Pod] = true
			}
		}
	}
	return offered
}

// back says whether the Service offers again what it should of the ready pods, and no others.
func (o *offering) back(offered, ready map[string]bool) bool {
	if o.all {
		return maps.Equal(offered, ready)
	}
	for name := range offered {
		if !ready[name] {
			return false
		}
	}
	return len(offered) >= min(o.some, len(ready))
}
