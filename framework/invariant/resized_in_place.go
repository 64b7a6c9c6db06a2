package invariant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// ResizedInPlace promises that the pods of a workload are given other resources while they run: from the first fault to the
// last undo none of them ends, and none of their containers starts again.
//
// Evidence: each pod that was there when the first fault began was given another amount of processor time by its kubelet
// before the first undo began.
//
// Source: https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
type ResizedInPlace struct {
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p ResizedInPlace) String() string {
	return "the pods of " + cmp.Or(p.Workload, "the workload") + " are resized while they run: none ends, and no container starts again"
}

func (p ResizedInPlace) judge(f *facts) Verdict {
	key, missing := workloadOf(f.run, p.Workload)
	d := slices.Concat(f.record(f.steady()), f.faultsBit(true), missing)
	if len(missing) > 0 {
		return Verdict{}.unknown(d)
	}
	r := followResizes(f, key)
	v := Verdict{}
	v.measure("resizedPods", float64(len(r.resized)))
	v.measure("disturbedPods", float64(len(r.disturbed)))
	if len(r.disturbed) > 0 {
		v.At = r.at
		v.support(r.disturbed...)
		return v.violated(d, "being resized disturbed %s: %s", count(len(r.disturbed), "pod"), r.disturbed[0])
	}
	v.support(r.resized...)
	switch {
	case r.pods == 0:
		d.add("%s had no pods when the first fault began", key.Name)
	case len(r.resized) < r.pods:
		d.add("%d of %s were seen to be resized", len(r.resized), count(r.pods, "pod"))
	}
	return v.held(d, "%s of %s were resized while they ran: %s", count(r.pods, "pod"), key.Name, first(r.resized))
}

func first(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

// resizes are what became of the pods that were there when the first fault began.
type resizes struct {
	pods      int
	resized   []string // a line each, before the first undo
	disturbed []string // a line each
	at        history.Offset
}

// inOrder are the events of pods by their moments; those of one moment, in the order of the pods' names.
func inOrder(events []history.Event) (pods []history.Event) {
	for _, e := range events {
		if e.Pod != nil {
			pods = append(pods, e)
		}
	}
	slices.SortStableFunc(pods, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Pod.Name, b.Pod.Name))
	})
	return pods
}

func followResizes(f *facts, key history.Key) (r resizes) {
	from, to := f.faultsOn()
	undo, undone := f.firstUndo()
	if !undone {
		undo = to
	}
	before := make(map[string]history.Pod) // by UID
	s := f.run.StateAt(from)
	for _, pod := range livePods(s, s.Workloads[key]) {
		before[pod.UID] = pod
	}
	r.pods = len(before)
	resized, disturbed := make(map[string]bool), make(map[string]bool)
	for _, e := range inOrder(f.run.Events) {
		if e.T < from || e.T >= to {
			continue
		}
		was, known := before[e.Pod.UID]
		if !known {
			continue
		}
		if was.CPU != "" && e.Pod.CPU != "" && e.Pod.CPU != was.CPU && e.T < undo && !resized[was.UID] {
			resized[was.UID] = true
			r.resized = append(r.resized, fmt.Sprintf("%s from %s to %s of processor time at %s", was.Name, was.CPU, e.Pod.CPU, moment(e.T)))
		}
		how := ""
		switch {
		case e.Pod.Change == history.Deleted || e.Pod.Deleting || e.Pod.Ended():
			how = "ended"
		case e.Pod.Restarts > was.Restarts:
			how = "had a container started again"
		}
		if how != "" && !disturbed[was.UID] {
			if len(disturbed) == 0 {
				r.at = e.T
			}
			disturbed[was.UID] = true
			r.disturbed = append(r.disturbed, fmt.Sprintf("%s %s at %s", was.Name, how, moment(e.T)))
		}
	}
	return r
}
