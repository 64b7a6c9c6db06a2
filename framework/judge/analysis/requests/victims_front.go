package requests

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// servicesOf are the Services of which a pod was a ready endpoint at a moment.
func servicesOf(f *evidence.Run, pod string, at history.Offset) (names []string) {
	for _, slice := range f.Record.StateAt(at).Slices {
		for _, e := range slice.Endpoints {
			if e.Pod == pod && e.Ready && !e.Terminating && !slices.Contains(names, slice.Service) {
				names = append(names, slice.Service)
			}
		}
	}
	return names
}

// behind reports whether the victim was one of the pods behind a front.
func (t *victim) behind(front *history.Front) bool {
	return front != nil && slices.ContainsFunc(t.services, func(s string) bool { return slices.Contains(front.Backends, s) })
}

// takeThrough counts a good answer for the victims behind the front of its lane.
func (s *victims) takeThrough(r *history.Request) {
	front := s.fronts[r.Lane]
	if front == nil {
		return
	}
	for _, t := range s.all {
		if t.behind(front) && JustBefore(r.Sent+s.clock, t.at, victimWindow) {
			t.through.count(r.Lane)
		}
	}
}

// sticky is why nothing shows that requests through a front came to the victims of a fault: each client comes to one of its pods, and the fault left some
// of them alone. Empty: they may have, as far as is known.
func (t *Stats) sticky(one *flow) string {
	if one.front == nil || one.front.Sticky == "" || one.answers > 0 {
		return ""
	}
	taken := make(map[string]bool)
	for _, v := range one.victims {
		taken[v.pod] = true
	}
	for _, slice := range t.facts.Record.StateAt(one.fault.Injecting.At - 1).Slices {
		for _, e := range slice.Endpoints {
			if slices.Contains(one.front.Backends, slice.Service) && e.Ready && !taken[e.Pod] {
				return one.front.Sticky
			}
		}
	}
	return ""
}

// throughFronts says, for each lane that passes a front, how many of its requests may have met the victims behind it.
func throughFronts(flows []flow, fault *timeline.FaultLife) (lines []string) {
	for _, one := range flows {
		if one.fault != fault || one.front == nil {
			continue
		}
		hidden := 0
		for _, v := range one.victims {
			if v.behind(one.front) {
				hidden++
			}
		}
		lines = append(lines, fmt.Sprintf("in the %s before, %s on %s got good answers through %s, behind which %s took %s: that requests met its victims is inferred",
			victimWindow, prose.Count(one.through, "request"), one.lane, one.front.Name, fault.Name, prose.Count(hidden, "endpoint")))
	}
	return lines
}

// elsewhere reports faults that took endpoints, of which none is known to be one that a lane's front leads to, or one of its own: the record
// lacks the answers that would show it, or the front leads elsewhere. It may do so if another lane came to them, or if none was meant to.
func (t *Stats) elsewhere(lanes []history.Lane) (d verdict.Missing) {
	plan := t.facts.Record.Header.Plan
	if plan == nil || plan.Aside {
		return nil
	}
	for i := range t.facts.Faults {
		if slices.ContainsFunc(plan.Lanes, func(l history.LanePlan) bool { return t.came(i, l.Lane) }) {
			continue
		}
		var taken []string
		for _, v := range t.victims.all {
			if v.fault == i && !v.idle && len(v.services) > 0 {
				taken = append(taken, v.pod)
			}
		}
		for _, lane := range lanes {
			front := t.victims.fronts[lane]
			if front == nil || len(taken) == 0 {
				continue
			}
			if offered, _ := t.victims.offered(i, lane); len(offered) == 0 {
				d.Add("%s took %s, and nothing shows that requests through %s on %s came to any of them", t.facts.Faults[i].Name, prose.List(taken), front.Name, lane)
			}
		}
	}
	return d
}

// came reports whether requests of a lane came to a victim of a fault, or may have come to one through the lane's front.
func (t *Stats) came(fault int, lane history.Lane) bool {
	offered, _ := t.victims.offered(fault, lane)
	return slices.ContainsFunc(offered, func(v *victim) bool { return v.answers.of(lane) > 0 || v.through.of(lane) > 0 })
}
