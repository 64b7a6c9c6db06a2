package invariant

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// ReplacedWithin promises that the pods that a workload lost with its nodes, or to pressure on them, are replaced without these
// nodes: within a limit of the moment at which the last fault was seen, all replicas are ready on other nodes, and stay so until
// the first revert begins. A fault of pressure is seen when the pods have been evicted, so there the limit counts from the node's
// taint. If the promise is broken, the evidence names the pods that are missing, with the scheduler's reason.
//
// What comes after the revert is the matter of RecoversWithin.
//
// Evidence: a watch saw the loss, or the taint of pressure, of a node with pods of the workload; and the limit passed before the
// first revert, unless all pods were replaced before. Pods on such a node do not count, whether it is back or not.
type ReplacedWithin struct {
	Limit time.Duration `json:"limit"`
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p ReplacedWithin) String() string {
	return fmt.Sprintf("all replicas of %s are ready on other nodes within %s of a fault, before it is reverted", whose(p.Workload), p.Limit)
}

// Needs implements Invariant.
func (p ReplacedWithin) Needs() evidence.Needs {
	return evidence.Needs{
		Since:           evidence.Undisturbed,
		Standing:        true,
		MovedByNodeLoss: true,
		Soon:            true,
		Parts:           []evidence.Part{evidence.PartPods, evidence.PartNodes, evidence.PartWorkloads},
	}
}

// Judge implements EventInvariant.
func (p ReplacedWithin) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	seen, until, ok := f.InForce()
	seen = f.PressureSince(seen)
	if !ok || len(ambiguous) > 0 { // FaultsActive reports a fault that was never seen
		return verdict.Verdict{}.Unknown(missing)
	}
	r := followReplacement(f, key, seen, until)
	switch {
	case len(r.nodes) == 0:
		missing.Add("no node was lost or under pressure while the faults were active")
	case r.hit == 0:
		missing.Add("%s had no pod on %s, so there was nothing to replace", key.Name, prose.List(r.nodes))
	}
	return p.verdict(f, r, key, missing)
}

func (p ReplacedWithin) verdict(f *evidence.Run, r replacement, key history.Key, missing verdict.Missing) verdict.Verdict {
	v := verdict.Verdict{}
	v.Measure("limitSeconds", p.Limit.Seconds())
	v.Measure("lostPods", float64(r.hit))
	late, decided := r.seen+p.Limit, r.until
	if r.whole.OK {
		decided = r.whole.At
	}
	took := decided - r.seen
	if r.hit == 0 || took > p.Limit && f.Unseen(late, decided) {
		return v.Unknown(missing)
	}
	if unsure := f.MayBeInTime(&v, r.seen, decided, p.Limit); took > p.Limit && len(unsure) > 0 {
		return v.Unknown(append(missing, unsure...))
	}
	how := "lost with"
	if !r.lost {
		how = "evicted from"
	}
	what := fmt.Sprintf("%s of %s, %s %s at %s,", prose.Count(r.hit, "pod"), key.Name, how, prose.List(r.nodes), prose.Moment(r.seen))
	if r.whole.OK {
		v.Measure("replacedSeconds", took.Seconds())
		v.AtMost("replacedSeconds", p.Limit.Seconds())
	}
	switch {
	case r.whole.OK && took <= p.Limit:
		missing = append(missing, f.MayBeTooLate(r.seen, r.whole.At, p.Limit)...)
		v.Support(fmt.Sprintf("from %s on, before anything was reverted: %s", prose.Moment(r.whole.At), r.saw))
		return v.Held(missing, "%s were replaced within %s: %s", what, prose.Moment(took), r.saw)
	case took < p.Limit:
		missing.Add("%s were not replaced when the record ended, %s later: %s", what, prose.Moment(took), r.saw)
		return v.Unknown(missing)
	}
	stuck, why := r.stuck(f, key, late)
	v.At = late
	v.Measure("stuckPods", float64(len(stuck)))
	v.Support(stuck...)
	if r.whole.OK {
		return v.Violated(missing, "%s were replaced %s later, and %s was the limit%s", what, prose.Moment(took), p.Limit, because(why))
	}
	return v.Violated(missing, "%s were not replaced %s later, and %s was the limit: %s%s", what, prose.Moment(took), p.Limit, r.saw, because(why))
}

// replacement is how a workload recovered without its lost nodes.
type replacement struct {
	seen, until history.Offset
	nodes       []string       // lost or under pressure, sorted
	lost        bool           // at least one of them was lost
	hit         int            // pods on these nodes
	whole       history.Moment // from when all replicas were ready elsewhere
	saw         string         // the state at the end
}

func followReplacement(f *evidence.Run, key history.Key, seen, until history.Offset) replacement {
	began, _ := f.FaultsOn()
	r := replacement{seen: seen, until: until, saw: "nothing"}
	r.nodes, r.lost = f.DisturbedNodes(began, until)
	hit := make(map[string]bool)
	evidence.Moments(f.Record, func(at history.Offset, s *history.State) {
		if at >= until {
			return
		}
		w := s.Workloads[key]
		ready := 0
		for _, pod := range evidence.LivePods(s, w) {
			on := slices.Contains(r.nodes, pod.Node)
			switch {
			case on && at >= began:
				hit[pod.UID] = true
			case !on && pod.Ready && !pod.Deleting && pod.Node != "":
				ready++
			}
		}
		r.saw = fmt.Sprintf("%d of %s ready on other nodes", ready, prose.Count(w.Replicas, "replica"))
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

// stuck describes, for each pod, what kept the workload from being complete at a moment, with the scheduler's reasons.
func (r replacement) stuck(f *evidence.Run, key history.Key, at history.Offset) (pods, why []string) {
	since := make(map[string]history.Offset) // when each pod was first seen, by UID
	for _, pod := range f.Timeline().Pods {
		since[pod.UID] = pod.Seen()
	}
	s := f.Record.StateAt(at)
	live := evidence.LivePods(s, s.Workloads[key])
	_, _, why = unplaced(live)
	state := "lost"
	if !r.lost {
		state = "under pressure"
	}
	for _, pod := range live {
		lost := slices.Contains(r.nodes, pod.Node)
		switch {
		case pod.Node == "":
			pods = append(pods, fmt.Sprintf("%s, made at %s, has no node%s", pod.Name, prose.Moment(since[pod.UID]), says(pod.Unschedulable)))
		case lost && !pod.Deleting:
			pods = append(pods, fmt.Sprintf("%s is still bound to %s, which is %s", pod.Name, pod.Node, state))
		case !lost && !pod.Deleting && !pod.Ready:
			pods = append(pods, fmt.Sprintf("%s, made at %s, is not ready on %s%s", pod.Name, prose.Moment(since[pod.UID]), pod.Node, says(pod.Waiting)))
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
