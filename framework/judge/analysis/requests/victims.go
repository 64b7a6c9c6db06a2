package requests

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
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
