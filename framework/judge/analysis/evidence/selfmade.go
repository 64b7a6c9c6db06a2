package evidence

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// selfMade says how much the tested workloads used, if it was most of what was used; empty: it was not, or is not known.
func (f *Run) selfMade(from, to history.Offset, total func(*history.CPUGroups, *history.Noise) float64) string {
	tested := Memoize(f, testedKey{}, f.tested)
	var all, theirs, passed, processors float64
	names := make(map[string]bool)
	for _, e := range f.Noise.samples[history.NoiseHarness] {
		begin, end := max(from, e.Noise.Since), min(to, e.T)
		g := e.Noise.Groups
		if begin >= end || g == nil || g.Processors == 0 {
			continue
		}
		seconds := (end - begin).Seconds()
		passed, processors = passed+seconds, float64(g.Processors)
		all += total(g, e.Noise) * seconds
		for _, uid := range slices.Sorted(maps.Keys(g.Pods)) {
			if name, is := tested[uid]; is {
				theirs += g.Pods[uid] * seconds
				names[name] = true
			}
		}
	}
	if all == 0 || theirs <= own*all {
		return ""
	}
	return fmt.Sprintf("%s used %.1f of %g processors from %s to %s: set limits, or give it a larger machine",
		prose.List(slices.Sorted(maps.Keys(names))), theirs/passed, processors, prose.Moment(from), prose.Moment(to))
}

type testedKey struct{}

// tested are the workloads of pods that are not the harness's own, by the pods' UIDs.
func (f *Run) tested() map[string]string {
	workers := make(map[string]bool)
	selectors := make(map[history.Key]history.Workload)
	for _, e := range f.Record.Events {
		switch {
		case e.Load != nil:
			workers[e.Load.Worker] = true
		case e.Workload != nil && len(e.Workload.Selector) > 0:
			selectors[history.Key{Namespace: e.Workload.Namespace, Name: e.Workload.Name}] = *e.Workload
		}
	}
	tested := make(map[string]string)
	for _, e := range f.Record.Events {
		if e.Pod == nil || workers[e.Pod.Name] {
			continue
		}
		for key, w := range selectors {
			if had := tested[e.Pod.UID]; key.Namespace == e.Pod.Namespace && history.Selects(w.Selector, e.Pod.Labels) && (had == "" || key.Name < had) {
				tested[e.Pod.UID] = key.Name
			}
		}
	}
	return tested
}
