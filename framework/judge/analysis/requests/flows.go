package requests

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// flow is what the victims of a fault answered on a lane.
type flow struct {
	fault    *timeline.FaultLife
	lane     history.Lane
	victims  []*victim
	answers  uint64
	through  uint64 // good answers that came through a front, of the victims or of others behind it
	front    *history.Front
	answered int    // number of victims that answered
	stuck    string // see Stats.sticky
	sent     uint64 // the most requests that were sent before any of them was taken, to whichever pod
}

// names are those of the victims, or of the first, and how many more there are.
func (f *flow) names() []string {
	const most = 2
	var names []string
	for _, v := range f.victims[:min(most, len(f.victims))] {
		names = append(names, v.pod)
	}
	if more := len(f.victims) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d others", more))
	}
	return names
}

// flows lists, for each fault with victims and each lane, what the victims answered just before.
func (t *Stats) flows(lanes []history.Lane) (list []flow) {
	for i := range t.facts.Faults {
		for _, lane := range lanes {
			offered, front := t.victims.offered(i, lane)
			if lane == history.LaneControl || len(offered) == 0 { // the first leads back to the worker
				continue
			}
			one := flow{fault: &t.facts.Faults[i], lane: lane, victims: offered, front: front}
			for _, v := range offered {
				one.through = max(one.through, v.through.of(lane))
				if n := v.answers.of(lane); n > 0 {
					one.answers += n
					one.answered++
				}
				one.sent = max(one.sent, v.sent.of(lane))
			}
			if one.stuck = t.sticky(&one); one.stuck != "" {
				one.through = 0
			}
			list = append(list, one)
		}
	}
	return list
}

// Reached reports lanes on which no victim of a fault answered a request: the fault could not affect those clients of its victims.
// A lane on which nothing was sent is reported elsewhere.
func (t *Stats) Reached(lanes []history.Lane) (d verdict.Missing) {
	return append(t.reached(lanes, func(flow) bool { return true }), t.elsewhere(lanes)...)
}

// unsent is whether a lane lacked requests, rather than answers of the victims: fewer than half of those that were due just before the
// fault took a victim were sent.
func (t *Stats) unsent(f flow) bool {
	return float64(f.sent) < t.rate(f.lane)*victimWindow.Seconds()/2
}

func (t *Stats) reached(lanes []history.Lane, which func(flow) bool) (d verdict.Missing) {
	for _, one := range t.flows(lanes) {
		if one.answers > 0 || one.through > 0 || t.Requests(one.lane) == 0 || !which(one) {
			continue
		}
		switch n := len(one.victims); {
		case one.stuck != "":
			d.Add("%s leads each client to the same pods (%s), and %s took some of them: nothing shows that requests on %s came to these", one.front.Name, one.stuck, one.fault.Name, one.lane)
		case one.front != nil:
			d.Add("no request got a good answer through %s on %s in the %s before %s", one.front.Name, one.lane, victimWindow, one.fault.Name)
		case t.victims.named.of(one.lane) == 0:
			d.Add("no answer on %s names a recorded pod: nothing shows that requests came to %s, which %s took", one.lane, prose.List(one.names()), one.fault.Name)
		case n > 1:
			d.Add("none of the %d pods that %s took answered a request on %s in the %s before the fault", n, one.fault.Name, one.lane, victimWindow)
		default:
			d.Add("%s, which %s took, answered no request on %s in the %s before the fault", one.victims[0].pod, one.fault.Name, one.lane, victimWindow)
		}
	}
	return d
}

// Met says whether a fault took a pod that requests on these lanes came to, or may have come to through a front.
func (t *Stats) Met(lanes []history.Lane) bool {
	return slices.ContainsFunc(t.flows(lanes), func(one flow) bool { return one.answers > 0 || one.through > 0 })
}

// Unmet reports faults that took endpoints of some Services, written as namespace/name, behind which the requests end, although nothing
// shows that requests came to any of them.
func (t *Stats) Unmet(services []string) (d verdict.Missing) {
	for i := range t.facts.Faults {
		for _, v := range t.victims.all {
			behind := slices.ContainsFunc(v.services, func(name string) bool {
				return slices.ContainsFunc(services, func(s string) bool { return strings.HasSuffix(s, "/"+name) })
			})
			if v.fault == i && !v.idle && behind {
				d.Add("%s took %s, and nothing shows that requests came to it", t.facts.Faults[i].Name, v.pod)
				break
			}
		}
	}
	return d
}

// VictimNumbers adds the smallest number of requests that the victims of a fault answered, by lane.
func (t *Stats) VictimNumbers(v *verdict.Verdict, lanes []history.Lane) {
	for _, one := range t.flows(lanes) {
		if one.front != nil { // how many they answered is not known
			continue
		}
		name := "victimAnswers." + string(one.lane)
		if least, known := v.Numbers[name]; !known || float64(one.answers) < least {
			v.Measure(name, float64(one.answers))
		}
	}
}

// VictimLines describes, for each fault, what its victims answered, or that it has none.
func (t *Stats) VictimLines(lanes []history.Lane) (lines []string) {
	flows := t.flows(lanes)
	for i := range t.facts.Faults {
		fault := &t.facts.Faults[i]
		var parts []string
		for _, one := range flows {
			if one.fault == fault && one.front == nil {
				parts = append(parts, fmt.Sprintf("%s on %s (%d of %s)", prose.Count(one.answers, "request"), one.lane, one.answered, prose.Count(len(one.victims), "pod")))
			}
		}
		inferred := throughFronts(flows, fault)
		lines = append(lines, inferred...)
		if len(parts) == 0 && len(inferred) > 0 {
			continue
		}
		if len(parts) == 0 {
			lines = append(lines, fault.Name+" took no pod that received requests"+t.victims.aside(i, lanes))
			continue
		}
		lines = append(lines, fmt.Sprintf("in the %s before, the victims of %s answered %s", victimWindow, fault.Name, strings.Join(parts, ", ")))
	}
	return lines
}

// aside says on which lanes nothing met the victims of a fault, if others were endpoints of another Service than these lanes name.
func (s *victims) aside(fault int, lanes []history.Lane) string {
	for _, lane := range lanes {
		if s.own[lane] != "" && slices.ContainsFunc(s.all, func(t *victim) bool { return t.fault == fault && len(t.services) > 0 }) {
			return " on " + prose.OnLanes(lanes)
		}
	}
	return ""
}
