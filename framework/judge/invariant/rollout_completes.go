package invariant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// RolloutCompletes promises that each rolling update that a fault begins, and each rollback, comes to its end before it is reverted: all pods
// are of the new template and available, and those of before are gone. It is broken where Kubernetes says that it does not end: its progress
// deadline has passed, or a pod cannot be created, finds no node or does not start, and nothing has changed for a minute.
//
// Evidence: a change of the workload's template during a fault, and pods that were there before it.
type RolloutCompletes struct {
	// Workload is the Deployment or StatefulSet; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

// NoRoomNumber counts, in a verdict, rollouts that did not end because a new pod had no place.
const NoRoomNumber = "rolloutsWithoutRoom"

func (p RolloutCompletes) String() string {
	return "each rolling update of " + whose(p.Workload) + " comes to its end, and so does its rollback"
}

// Needs implements Invariant.
func (p RolloutCompletes) Needs() evidence.Needs {
	return evidence.Needs{
		Watches: evidence.Ordered, Since: evidence.Undisturbed, MovedByNodeLoss: true,
		Parts: []evidence.Part{evidence.PartPods, evidence.PartWorkloads},
	}
}

// Judge implements EventInvariant.
func (p RolloutCompletes) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	if len(ambiguous) > 0 {
		return verdict.Verdict{}.Unknown(missing)
	}
	v := verdict.Verdict{}
	var slowest history.Offset
	var stuck []update
	all := updatesOf(f, key)
	for _, u := range all {
		slowest = max(slowest, u.done.At-u.began)
		slowed, why := f.Slowed(u.watch.Since(), u.ended)
		switch {
		case u.done.OK:
			missing = append(missing, u.replaced(f, key)...)
		case u.reason == timeline.RolloutReason{}:
			missing.Add("%s: %s", u.words(key), u.saw)
		case 2*slowed > u.ended-u.watch.Since():
			why.Count(&v, 1)
			missing.Add("%s, and most of the time it %s: %s", u.words(key), why.Words, u.reason.Words)
		case f.Blind(u.ended):
			missing.Add("%s, and a watch had a gap then: %s", u.words(key), u.reason.Words)
		default:
			stuck = append(stuck, u)
		}
	}
	v.Measure("rollouts", float64(len(all)))
	v.Measure("stuck", float64(len(stuck)))
	v.AtMost("stuck", 0)
	if len(stuck) > 0 {
		return broken(v, f, key, stuck, missing)
	}
	if !slices.ContainsFunc(all, func(u update) bool { return u.forward }) {
		missing.Add("no fault began a rolling update of %s", key.Name)
	}
	return v.Held(missing, "%s of %s came to their end, the slowest after %s", prose.Count(len(all), "rolling update"), key.Name, prose.Moment(slowest))
}

func broken(v verdict.Verdict, f *evidence.Run, key history.Key, stuck []update, missing verdict.Missing) verdict.Verdict {
	for _, u := range stuck {
		if u.reason.NoRoom {
			v.Measure(NoRoomNumber, v.Numbers[NoRoomNumber]+1)
		}
	}
	first := stuck[0]
	v.At = first.ended
	v.Support("then: " + first.saw)
	v.Support(first.warnings(f, key)...)
	return v.Violated(missing, "%s: %s", first.words(key), first.reason.Words+first.says(f, key))
}

// update is a change of a workload's template.
type update struct {
	began, ended history.Offset // ended: by another change of the template, or by the record
	done         history.Moment // the controller saw all replicas updated and available
	saw          string         // at the end
	watch        timeline.RolloutWatch
	reason       timeline.RolloutReason // at the end, why it does not come to one; the zero RolloutReason: it may
	forward      bool                   // a fault made it; otherwise it is a rollback
	before       history.Offset         // when the fault that made it began
}

func (u *update) words(key history.Key) string {
	what := "rollback"
	if u.forward {
		what = "rolling update"
	}
	return fmt.Sprintf("the %s of %s that began at %s had not come to its end %s later", what, key.Name, prose.Moment(u.began), prose.Moment(u.ended-u.began))
}

// replaced says what is missing of a rolling update that was done: pods that were there before it, and are gone.
func (u *update) replaced(f *evidence.Run, key history.Key) (missing verdict.Missing) {
	if !u.forward {
		return nil
	}
	was, is := f.Record.StateAt(u.before), f.Record.StateAt(u.ended+evidence.WatchSkew)
	before := evidence.LivePods(was, was.Workloads[key])
	if len(before) == 0 {
		missing.Add("no pod of %s was there before its rolling update", key.Name)
	}
	for _, p := range before {
		if now, there := is.Pods[p.UID]; there && !now.Ended() && !p.Deleting {
			missing.Add("pod %s was there before the rolling update of %s, and still was after it", p.Name, key.Name)
		}
	}
	return missing
}

// updatesOf are the changes of a workload's template since the first fault, in order.
func updatesOf(f *evidence.Run, key history.Key) (all []update) {
	from, _ := f.FaultsOn()
	end, template, s := f.End(), "", history.NewState()
	var last history.Changes
	for _, e := range f.Record.Events {
		if e.T >= end {
			break
		}
		s.Apply(e)
		w, exists := s.Workloads[key]
		if !exists {
			continue
		}
		if template != "" && w.Template != template && e.T >= from {
			all = append(all, update{began: e.T})
			all[len(all)-1].by(f.Faults)
		}
		template = w.Template
		if len(all) == 0 {
			continue
		}
		u := &all[len(all)-1]
		if now := s.Changes(w.Pods()); u.note(e, key) || now != last { // most events are about others
			last = now
			u.see(e.T, w, evidence.LivePods(s, w))
		}
	}
	for i := range all {
		u := &all[i]
		if u.ended = end; i+1 < len(all) {
			u.ended = all[i+1].began
		}
		u.reason = u.watch.Hopeless(u.ended, timeline.HopelessAfter)
	}
	return all
}

// note takes in a Kubernetes Event about the workload; false: it is not one.
func (u *update) note(e history.Event, key history.Key) bool {
	n := e.KubeNote
	if n == nil || n.Namespace != key.Namespace || n.Name != key.Name {
		return false
	}
	u.watch.Note(n.Kind, n.Reason, n.Message)
	return true
}

func (u *update) see(at history.Offset, w history.Workload, pods []history.Pod) {
	u.watch.See(at, w, pods)
	u.saw = fmt.Sprintf("%d of %d replicas updated, %d available, %s", w.Updated, w.Replicas, w.Available, prose.Count(len(pods), "pod"))
	if w.Settled() && !u.done.OK {
		u.done = history.Moment{At: at, OK: true}
	}
}

// by finds out whether a fault or its revert made the update: which of them began last.
func (u *update) by(faults []timeline.FaultLife) {
	var healing history.Offset
	for _, fault := range faults {
		if m := fault.Injecting; m.OK && m.At <= u.began {
			u.before = max(u.before, m.At)
		}
		if m := fault.Healing; m.OK && m.At <= u.began {
			healing = max(healing, m.At)
		}
	}
	u.forward = u.before > healing
}

// warnings are what Kubernetes' Events warned of during the update, about the workload and what it is made of, each once.
func (u *update) warnings(f *evidence.Run, key history.Key) (list []string) {
	for _, e := range f.Record.Events {
		n := e.KubeNote
		if n == nil || n.Type != "Warning" || e.T < u.began || e.T > u.ended || n.Namespace != key.Namespace || !strings.HasPrefix(n.Name+"-", key.Name+"-") {
			continue
		}
		if line := fmt.Sprintf("%s %s: %s: %s", n.Kind, n.Name, n.Reason, n.Message); !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}

// says is what Kubernetes said last of a pod that does not start; empty: nothing but what its status says.
func (u *update) says(f *evidence.Run, key history.Key) (last string) {
	for _, line := range u.warnings(f, key) {
		about, said, _ := strings.Cut(line, ": ")
		if about == "Pod "+u.reason.Pod && !strings.HasPrefix(said, "BackOff") && !strings.Contains(said, "Readiness probe") {
			last = "; " + said
		}
	}
	return last
}
