package requests

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/stages"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// victimWindow is the time before a fault takes a pod in which the pod must have answered requests: a fault whose victims got no
// requests fails none. Each connection of a slow lane gets its turn within it.
const victimWindow = 3 * time.Second

// victims are the pods that the faults of a run took or touched, with the requests that each answered just before: the pods that a
// fault names, and the pods on the nodes that it names. A fault of the control plane or of kube-proxy, and a fault that only adds
// pods, has no victims.
type victims struct {
	all     []*victim
	byName  map[string]*answering // all pods of the watches
	fronts  map[history.Lane]*history.Front
	own     map[history.Lane]string // the Service that the lane's URL names; no entry: it is not known
	named   laneCounts              // good answers that name a pod of the record
	mayMiss bool                    // no lane has to meet them: none is meant to, or what met them is judged by the episodes of a recording
	clock   history.Offset          // how far the times of requests may be off
}

// answering is a pod by the name that requests have.
type answering struct {
	workloads []int     // the workloads that select the pod
	answered  bool      // the pod answered a request
	taken     []*victim // once for each fault that took it
}

// victim is a pod that a fault took or touched.
type victim struct {
	fault int // index of facts.faults
	pod   string
	at    history.Offset // its deletion, if that came before the fault was seen; otherwise the start of the fault
	idle  bool           // it was not ready, so clients were not sent to it
	// Within victimWindow: requests that the pod answered, and requests that were sent, to whichever pod.
	answers, sent laneCounts
	// services are those of which it was a ready endpoint. Of a workload's pod they are read only where a lane names a Service or passes a front.
	// through counts the good answers, within victimWindow, that came through a front of such a Service: which of its pods gave them is not known.
	services []string
	through  laneCounts
}

// laneCounts are numbers of requests by lane.
type laneCounts []laneCount

type laneCount struct {
	lane history.Lane
	n    uint64
}

// JustBefore says whether a request was sent within a window that ends at a moment.
func JustBefore(sent, at history.Offset, window time.Duration) bool {
	return sent <= at && at-sent <= window
}

func newVictims(f *evidence.Run) *victims {
	s := &victims{byName: make(map[string]*answering), fronts: f.Record.Fronts(), own: f.Record.Services(), clock: f.ClockError()}
	s.mayMiss = f.Record.Header.Recorded != nil || f.Record.Header.Plan != nil && f.Record.Header.Plan.Aside
	workloads := f.Workloads()
	for _, e := range f.Record.Events {
		if e.Pod == nil || s.byName[e.Pod.Name] != nil {
			continue
		}
		known := &answering{}
		for i, w := range workloads {
			if w.Owns(e.Pod) {
				known.workloads = append(known.workloads, i)
			}
		}
		s.byName[e.Pod.Name] = known
	}
	for i := range f.Faults {
		s.find(f, i)
	}
	return s
}

// find adds the victims of a fault.
func (s *victims) find(f *evidence.Run, i int) {
	fault := &f.Faults[i]
	if !fault.Injecting.OK || len(fault.Pods)+len(fault.Nodes) == 0 {
		return
	}
	deleted := make(map[string]history.Offset)
	for _, end := range f.Timeline().Terminations(fault.Injecting.At, fault.Seen.At) {
		if _, again := deleted[end.Name]; !again && end.Requested.OK { // a kubelet's eviction is recorded when the pod has ended
			deleted[end.Name] = end.Requested.At
		}
	}
	before := f.Record.StateAt(fault.Injecting.At - 1)
	names := slices.Clone(fault.Pods)
	for _, pod := range before.Pods {
		if slices.Contains(fault.Nodes, pod.Node) && !pod.Ended() {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		known := s.byName[name]
		if known == nil {
			continue
		}
		t := &victim{fault: i, pod: name, at: fault.Injecting.At}
		if at, ended := deleted[name]; ended {
			t.at = at
		}
		t.idle = idle(f, name, t.at-1)
		if len(s.fronts)+len(s.own) > 0 || len(known.workloads) == 0 || f.Record.Header.Recorded != nil {
			t.services = servicesOf(f, name, t.at-1)
		}
		known.taken = append(known.taken, t)
		s.all = append(s.all, t)
	}
}

// idle says whether the watch reported the pod of a name as not ready at a moment. It is false for a pod that the watch did not
// know then.
func idle(f *evidence.Run, name string, at history.Offset) bool {
	known, ready := false, false
	for _, e := range f.Record.Events {
		if e.T > at {
			break
		}
		if e.Pod != nil && e.Pod.Name == name {
			known, ready = e.Pod.Change != history.Deleted, e.Pod.Ready && !e.Pod.Ended()
		}
	}
	return known && !ready
}

// take counts a request that was sent.
func (s *victims) take(r *history.Request) {
	for _, t := range s.all {
		if JustBefore(r.Sent+s.clock, t.at, victimWindow) {
			t.sent.count(r.Lane)
		}
	}
	if r.Outcome != history.OK {
		return
	}
	s.takeThrough(r)
	if r.Inferred || r.Pod == "" {
		return
	}
	known := s.byName[r.Pod]
	if known == nil {
		return
	}
	known.answered = true
	s.named.count(r.Lane)
	for _, t := range known.taken {
		if JustBefore(r.Sent+s.clock, t.at, victimWindow) {
			t.answers.count(r.Lane)
		}
	}
}

func (c *laneCounts) count(lane history.Lane) {
	for i := range *c {
		if (*c)[i].lane == lane {
			(*c)[i].n++
			return
		}
	}
	*c = append(*c, laneCount{lane, 1})
}

func (c laneCounts) of(lane history.Lane) uint64 {
	for _, one := range c {
		if one.lane == lane {
			return one.n
		}
	}
	return 0
}

// offered are the victims of a fault that clients of a lane could be sent to: those that were ready, and that were endpoints of the lane's own
// Service, answered under load, or belong to a workload with a pod that did. Pods of holdfast's own gateway never answer in their own name, as
// simulated pods do not, and pods behind another front never do: they are offered if they were endpoints of its Services. Then the front is
// returned. Those that were endpoints of other Services than the lane's own are not offered to its clients: they may be what its pods need.
//
// Where no answer names a pod, as without the headers or the connection tracking that tell it, nothing is known of what a lane met: every victim
// that may have served is offered.
func (s *victims) offered(fault int, lane history.Lane) (list []*victim, front *history.Front) {
	answering := make(map[int]bool) // workloads with a pod that answered
	for _, known := range s.byName {
		for _, w := range known.workloads {
			answering[w] = answering[w] || known.answered
		}
	}
	for _, t := range s.all {
		switch {
		case t.fault != fault || t.idle:
		case t.behind(s.fronts[lane]):
			list, front = append(list, t), s.fronts[lane]
		case s.own[lane] != "" && len(t.services) > 0:
			if slices.Contains(t.services, s.own[lane]) {
				list = append(list, t)
			}
		case s.byName[t.pod].answered, slices.ContainsFunc(s.byName[t.pod].workloads, func(w int) bool { return answering[w] }):
			list = append(list, t)
		case s.fronts[lane] == nil && !s.mayMiss && s.named.of(lane) == 0 && len(s.byName[t.pod].workloads)+len(t.services) > 0:
			list = append(list, t)
		}
	}
	return list, front
}

// flow is what the victims of a fault answered on a lane.
type flow struct {
	fault    *stages.FaultLife
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
		if one.stuck != "" {
			d.Add("%s leads each client to one pod (%s), and %s took some of them: nothing shows that requests on %s came to these", one.front.Name, one.stuck, one.fault.Name, one.lane)
			continue
		}
		if one.front != nil {
			d.Add("no request got a good answer through %s on %s in the %s before %s", one.front.Name, one.lane, victimWindow, one.fault.Name)
			continue
		}
		n := len(one.victims)
		if t.victims.named.of(one.lane) == 0 {
			d.Add("no answer on %s names a recorded pod: nothing shows that requests came to %s, which %s took", one.lane, prose.List(one.names()), one.fault.Name)
			continue
		}
		if n > 1 {
			d.Add("none of the %d pods that %s took answered a request on %s in the %s before the fault", n, one.fault.Name, one.lane, victimWindow)
			continue
		}
		d.Add("%s, which %s took, answered no request on %s in the %s before the fault", one.victims[0].pod, one.fault.Name, one.lane, victimWindow)
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
