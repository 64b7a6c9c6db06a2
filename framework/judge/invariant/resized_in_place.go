package invariant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// ResizedInPlace promises that the pods of a workload are resized in place: from the first fault to the last revert none of them
// ends, and none of their containers restarts.
//
// Evidence: before the first revert began, the kubelet changed the CPU of each pod that existed when the first fault began.
//
// Source: https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
type ResizedInPlace struct {
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p ResizedInPlace) String() string {
	return "the pods of " + whose(p.Workload) + " are resized in place: no pod ends, and no container restarts"
}

// Needs implements Invariant.
func (p ResizedInPlace) Needs() evidence.Needs {
	return evidence.Needs{Since: evidence.Undisturbed, Parts: []evidence.Part{evidence.PartPods, evidence.PartWorkloads}}
}

// Judge implements EventInvariant.
func (p ResizedInPlace) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	if len(ambiguous) > 0 {
		return verdict.Verdict{}.Unknown(missing)
	}
	r := followResizes(f, key)
	v := verdict.Verdict{}
	v.Measure("resizedPods", float64(len(r.resized)))
	v.Measure("disturbedPods", float64(len(r.disturbed)))
	v.AtMost("disturbedPods", 0)
	if len(r.disturbed) > 0 {
		v.At = r.at
		v.Support(r.disturbed...)
		return v.Violated(missing, "the resize disturbed %s: %s", prose.Count(len(r.disturbed), "pod"), r.disturbed[0])
	}
	v.Support(r.resized...)
	switch {
	case r.pods == 0:
		missing.Add("%s had no pods when the first fault began", key.Name)
	case len(r.resized) < r.pods:
		missing.Add("%d of %s were resized", len(r.resized), prose.Count(r.pods, "pod"))
	}
	return v.Held(missing, "%s of %s were resized in place: %s", prose.Count(r.pods, "pod"), key.Name, first(r.resized))
}

func first(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

// resizes is what happened to the pods that existed when the first fault began.
type resizes struct {
	pods      int
	resized   []string // one line for each, before the first revert
	disturbed []string // a line each
	at        history.Offset
}

// inOrder are the events of pods by time, and then by the pods' names.
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

func followResizes(f *evidence.Run, key history.Key) (r resizes) {
	from, to := f.FaultsOn()
	undo, undone := f.FirstRevert()
	if !undone {
		undo = to
	}
	before := make(map[string]history.Pod) // by UID
	s := f.Record.StateAt(from)
	for _, pod := range evidence.LivePods(s, s.Workloads[key]) {
		before[pod.UID] = pod
	}
	r.pods = len(before)
	resized, disturbed := make(map[string]bool), make(map[string]bool)
	for _, e := range inOrder(f.Record.Events) {
		if e.T < from || e.T >= to {
			continue
		}
		was, known := before[e.Pod.UID]
		if !known {
			continue
		}
		if was.CPU != "" && e.Pod.CPU != "" && e.Pod.CPU != was.CPU && e.T < undo && !resized[was.UID] {
			resized[was.UID] = true
			r.resized = append(r.resized, fmt.Sprintf("%s from %s to %s of CPU at %s", was.Name, was.CPU, e.Pod.CPU, prose.Moment(e.T)))
		}
		how := ""
		switch {
		case e.Pod.Change == history.Deleted || e.Pod.Deleting || e.Pod.Ended():
			how = "ended"
		case e.Pod.Restarts > was.Restarts:
			how = "had a container restarted"
		}
		if how != "" && !disturbed[was.UID] {
			if len(disturbed) == 0 {
				r.at = e.T
			}
			disturbed[was.UID] = true
			r.disturbed = append(r.disturbed, fmt.Sprintf("%s %s at %s", was.Name, how, prose.Moment(e.T)))
		}
	}
	return r
}
