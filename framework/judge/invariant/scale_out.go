package invariant

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// scaleOut is a workload from when its new pods were ready until they were removed again.
type scaleOut struct {
	ready history.Offset // when the last of the new pods became ready
	to    history.Offset // when the first revert began, or the end
	pods  []readyPod     // pods that were ready from ready to to, by name
	// unsteady are the pods that were ready for only a part of that time.
	unsteady []string
}

// readyPod is a pod that was always ready.
type readyPod struct {
	name, node string
	ready      history.Offset // for the first time
	isNew      bool           // it became ready in phase Disturbed
}

// followScaleOut finds the pods of a workload that became ready in phase Disturbed.
func followScaleOut(f *evidence.Run, key history.Key) scaleOut {
	out := scaleOut{to: f.End()}
	for _, fault := range f.Faults {
		if fault.Healing.OK {
			out.to = min(out.to, fault.Healing.At)
		}
	}
	disturbed, known := f.Phases[history.Disturbed]
	first := make(map[string]history.Offset) // by UID
	evidence.Moments(f.Record, func(at history.Offset, s *history.State) {
		w, exists := s.Workloads[key]
		if !exists || !known || at >= out.to {
			return
		}
		now := s.ReadyPods(w.Pods())
		came := false
		for _, pod := range now {
			if _, seen := first[pod.UID]; !seen {
				first[pod.UID] = at
				came = came || at >= disturbed.From
			}
		}
		if came {
			out.begin(at, now, first, disturbed.From)
		} else {
			out.narrow(now)
		}
	})
	return out
}

// begin takes the pods that are ready when the last new pod becomes ready.
func (o *scaleOut) begin(at history.Offset, now []history.Pod, first map[string]history.Offset, disturbed history.Offset) {
	o.ready, o.pods, o.unsteady = at, nil, nil
	for _, pod := range now {
		o.pods = append(o.pods, readyPod{pod.Name, pod.Node, first[pod.UID], first[pod.UID] >= disturbed})
	}
}

// narrow removes the pods that are no longer ready, and records those that are ready again.
func (o *scaleOut) narrow(now []history.Pod) {
	if len(o.pods) == 0 {
		return // no new pod yet
	}
	is := make(map[string]bool)
	for _, pod := range now {
		is[pod.Name] = true
		if !slices.ContainsFunc(o.pods, func(p readyPod) bool { return p.name == pod.Name }) {
			o.leaveOut(pod.Name)
		}
	}
	o.pods = slices.DeleteFunc(o.pods, func(p readyPod) bool {
		if !is[p.name] {
			o.leaveOut(p.name)
		}
		return !is[p.name]
	})
}

func (o *scaleOut) leaveOut(name string) {
	if !slices.Contains(o.unsteady, name) {
		o.unsteady = append(o.unsteady, name)
	}
}

// fresh is the number of new pods.
func (o *scaleOut) fresh() (n int) {
	for _, pod := range o.pods {
		if pod.isNew {
			n++
		}
	}
	return n
}
