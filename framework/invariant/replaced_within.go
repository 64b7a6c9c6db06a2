package invariant

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// ReplacedWithin promises that what a workload lost with its nodes, or to their pressure, is replaced without them:
// within a limit of the moment at which the last fault was seen, all its replicas are ready on other nodes, and stay so until
// the first undo begins. Pressure on a node is seen when its pods have been evicted; the limit counts from the node's taint.
// Where they are not, the evidence names the pods that keep it from being so, with the scheduler's reason.
//
// It says nothing of what comes after the undo: see RecoversWithin.
//
// Evidence: a watch saw a node being lost, or tainted for its pressure, that pods of the workload were on, and the
// limit passed before the first undo unless all were replaced before. Pods on such a node do not count, whether it is back or
// not.
type ReplacedWithin struct {
	Limit time.Duration `json:"limit"`
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p ReplacedWithin) String() string {
	who := p.Workload
	if who == "" {
		who = "the workload"
	}
	return fmt.Sprintf("all replicas of %s are ready on other nodes within %s of a fault, before it is undone", who, p.Limit)
}

func (p ReplacedWithin) judge(f *facts) Verdict {
	key, missing := workloadOf(f.run, p.Workload)
	d := slices.Concat(f.record(f.steady()), f.faultsBit(false), missing)
	seen, until, ok := f.inForce()
	seen = f.pressedSince(seen)
	if !ok || len(missing) > 0 { // what was never seen, faultsBit has told
		return Verdict{}.unknown(d)
	}
	r := followReplacement(f, key, seen, until)
	switch {
	case len(r.nodes) == 0:
		d.add("no node was seen to be lost, or under pressure, while the faults were in force")
	case r.hit == 0:
		d.add("%s had no pod on %s, and so nothing to replace", key.Name, list(r.nodes))
	}
	return p.verdict(f, r, key, d)
}

func (p ReplacedWithin) verdict(f *facts, r replacement, key history.Key, d doubts) Verdict {
	v := Verdict{}
	v.measure("limitSeconds", p.Limit.Seconds())
	v.measure("lostPods", float64(r.hit))
	late, decided := r.seen+p.Limit, r.until
	if r.whole.OK {
		decided = r.whole.At
	}
	took := decided - r.seen
	if r.hit == 0 || took > p.Limit && f.unseen(late, decided) {
		return v.unknown(d)
	}
	if unsure := f.orInTime(r.seen, decided, p.Limit); took > p.Limit && len(unsure) > 0 {
		return v.unknown(append(d, unsure...))
	}
	how := "lost with"
	if !r.lost {
		how = "evicted from"
	}
	what := fmt.Sprintf("%s of %s, %s %s at %s,", count(r.hit, "pod"), key.Name, how, list(r.nodes), moment(r.seen))
	if r.whole.OK {
		v.measure("replacedSeconds", took.Seconds())
	}
	switch {
	case r.whole.OK && took <= p.Limit:
		d = append(d, f.orTooLate(r.seen, r.whole.At, p.Limit)...)
		v.support(fmt.Sprintf("from %s on, while nothing was undone: %s", moment(r.whole.At), r.saw))
		return v.held(d, "%s were replaced within %s: %s", what, moment(took), r.saw)
	case took < p.Limit:
		d.add("%s were not replaced when the watching ended, %s later: %s", what, moment(took), r.saw)
		return v.unknown(d)
	}
	stuck, why := r.stuck(f, key, late)
	v.At = late
	v.measure("stuckPods", float64(len(stuck)))
	v.support(stuck...)
	if r.whole.OK {
		return v.violated(d, "%s were replaced %s later, and %s was the limit%s", what, moment(took), p.Limit, because(why))
	}
	return v.violated(d, "%s were not replaced %s later, and %s was the limit: %s%s", what, moment(took), p.Limit, r.saw, because(why))
}

// replacement is how a workload did without the nodes that were taken from it.
type replacement struct {
	seen, until history.Offset
	nodes       []string       // that were lost or under pressure, by name
	lost        bool           // one of them was lost
	hit         int            // pods that were on them
	whole       history.Moment // from when on all replicas were ready elsewhere
	saw         string         // at the end
}

func followReplacement(f *facts, key history.Key, seen, until history.Offset) replacement {
	began, _ := f.faultsOn()
	r := replacement{seen: seen, until: until, saw: "nothing"}
	r.nodes, r.lost = taken(f.run, began, until)
	hit := make(map[string]bool)
	moments(f.run, func(at history.Offset, s *history.State) {
		if at >= until {
			return
		}
		w := s.Workloads[key]
		ready := 0
		for _, pod := range livePods(s, w) {
			on := slices.Contains(r.nodes, pod.Node)
			switch {
			case on && at >= began:
				hit[pod.UID] = true
			case !on && pod.Ready && !pod.Deleting && pod.Node != "":
				ready++
			}
		}
		r.saw = fmt.Sprintf("%d of %s ready on other nodes", ready, count(w.Replicas, "replica"))
		switch {
		case at < seen || ready < w.Replicas:
			r.whole = history.Moment{}
		case !r.whole.OK:
			r.whole = history.Moment{At: at, OK: true}
		}
	})
	r.hit = len(hit)
	return r
}

// stuck says of each pod what kept the workload from being whole at a moment, and gives the scheduler's reasons.
func (r replacement) stuck(f *facts, key history.Key, at history.Offset) (pods, why []string) {
	since := make(map[string]history.Offset) // when each was first seen, by UID
	for _, e := range f.run.Events {
		if e.Pod == nil {
			continue
		}
		if _, known := since[e.Pod.UID]; !known {
			since[e.Pod.UID] = e.T
		}
	}
	s := f.run.StateAt(at)
	live := livePods(s, s.Workloads[key])
	_, _, why = unplaced(live)
	state := "lost"
	if !r.lost {
		state = "under pressure"
	}
	for _, pod := range live {
		lost := slices.Contains(r.nodes, pod.Node)
		switch {
		case pod.Node == "":
			pods = append(pods, fmt.Sprintf("%s, made at %s, has no node%s", pod.Name, moment(since[pod.UID]), says(pod.Unschedulable)))
		case lost && !pod.Deleting:
			pods = append(pods, fmt.Sprintf("%s is still bound to %s, which is %s", pod.Name, pod.Node, state))
		case !lost && !pod.Deleting && !pod.Ready:
			pods = append(pods, fmt.Sprintf("%s, made at %s, is not ready on %s%s", pod.Name, moment(since[pod.UID]), pod.Node, says(pod.Waiting)))
		}
	}
	return pods, why
}

func says(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
