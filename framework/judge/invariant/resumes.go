package invariant

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Resumes promises of a component of the control plane that is unavailable: changes that need it stall, and go on when it is back.
// From when the fault was seen until its revert began, no pod of the workload became ready; and within a limit of that moment the
// workload had more ready replicas than were wanted when the fault began, and had settled.
//
// Evidence: a fault that was seen; and something that could stall: the workload wanted more replicas than it had when the revert
// began, or none of the harness's own changes came back from a second after the fault was seen until then. The harness must have
// seen its changes before the fault was seen and after its revert, and, where the record has failed changes, some must have failed
// in the meantime.
type Resumes struct {
	Limit time.Duration `json:"limit"`
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p Resumes) String() string {
	return fmt.Sprintf("changes to %s stall while a fault is active, and complete within %s of the start of its revert",
		whose(p.Workload), p.Limit)
}

// Needs implements Invariant.
func (p Resumes) Needs() evidence.Needs {
	return evidence.Needs{
		Watches: evidence.Ordered,
		Since:   evidence.Undisturbed,
		Parts:   []evidence.Part{evidence.PartPods, evidence.PartWorkloads},
	}
}

// Judge implements EventInvariant.
func (p Resumes) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	seen, undo, ok := f.InForce()
	if !ok || len(ambiguous) > 0 { // FaultsActive reports a fault that was never seen
		return verdict.Verdict{}.Unknown(missing)
	}
	s := followStall(f, key, seen, undo)
	v := verdict.Verdict{}
	v.Measure("limitSeconds", p.Limit.Seconds())
	v.Measure("stalledSeconds", (undo - seen).Seconds())
	v.Measure("readyMeanwhile", float64(len(s.through)))
	v.AtMost("readyMeanwhile", 0)
	switch {
	case len(s.through) > 0 && f.ReportedLate(seen):
		missing.Add("when %s became ready is unknown: a watch was late", s.through[0])
	case len(s.through) > 0:
		v.At = s.first
		v.Support(s.through...)
		return v.Violated(missing, "%s became ready while the fault was active, from %s to %s: %s", prose.Count(len(s.through), "pod"),
			prose.Moment(seen), prose.Moment(undo), s.through[0])
	case s.asked <= s.had && s.echoes > 0:
		missing.Add("nothing could stall: %s still wanted %s, and other changes went through all the time", key.Name, prose.Count(s.had, "replica"))
	case s.asked <= s.had && (s.echoesBefore == 0 || s.echoesAfter == 0):
		missing.Add("whether anything could stall is unknown: %s still wanted %s, and the harness saw %d of its own changes before the fault and %d after its revert",
			key.Name, prose.Count(s.had, "replica"), s.echoesBefore, s.echoesAfter)
	case s.asked <= s.had && s.failed == 0 && f.Record.Header.Samples == history.SamplesOfItself:
		missing.Add("whether anything could stall is unknown: %s still wanted %s, and no change by the harness itself failed", key.Name, prose.Count(s.had, "replica"))
	}
	if len(s.unclear) > 0 {
		missing.Add("%s just after the revert began according to the record, but the harness may have recorded that late", s.unclear[0])
	}
	return p.resumed(f, v, missing, key.Name, s)
}

func (p Resumes) resumed(f *evidence.Run, v verdict.Verdict, missing verdict.Missing, name string, s stall) verdict.Verdict {
	what := fmt.Sprintf("%s, which had %s,", name, prose.Count(s.had, "replica"))
	if !s.done.OK {
		watched := f.End() - s.undo
		v.Measure("watchedSeconds", watched.Seconds())
		if watched < p.Limit || f.Unseen(s.undo+p.Limit, f.End()) {
			missing.Add("%s had no more when the record ended, %s after the revert began: %s", what, prose.Moment(watched), s.saw)
			return v.Unknown(append(missing, f.Late(f.Steady())...))
		}
		if unsure := f.MayBeInTime(&v, s.undo, f.End(), p.Limit); len(unsure) > 0 {
			return v.Unknown(append(missing, unsure...))
		}
		v.At = s.undo + p.Limit
		return v.Violated(missing, "%s had no more %s after the revert began at %s: %s", what, prose.Moment(watched), prose.Moment(s.undo), s.saw)
	}
	took := s.done.At - s.undo
	v.Measure("resumedSeconds", took.Seconds())
	v.AtMost("resumedSeconds", p.Limit.Seconds())
	v.Support(fmt.Sprintf("the revert began at %s; at %s: %s", prose.Moment(s.undo), prose.Moment(s.done.At), s.saw))
	if took > p.Limit {
		if f.Unseen(s.undo+p.Limit, s.done.At) {
			return v.Unknown(append(missing, f.Late(f.Steady())...))
		}
		if unsure := f.MayBeInTime(&v, s.undo, s.done.At, p.Limit); len(unsure) > 0 {
			return v.Unknown(append(missing, unsure...))
		}
		v.At = s.undo + p.Limit
		return v.Violated(missing, "%s had %s after the revert began at %s what was wanted, and %s was the limit: %s",
			what, prose.Moment(took), prose.Moment(s.undo), p.Limit, s.saw)
	}
	return v.Held(missing, "%s stalled for %s and had the wanted replicas %s after the revert began at %s: %s",
		what, prose.Moment(s.undo-s.seen), prose.Moment(took), prose.Moment(s.undo), s.saw)
}

// stall is how a workload stalled and went on.
type stall struct {
	seen, undo history.Offset
	had, asked int            // replicas wanted when the fault was seen, and when its revert began
	through    []string       // pods that became ready during the fault
	unclear    []string       // pods that may have become ready during it: the watch reported them just after the revert began
	first      history.Offset // when the first of them became ready
	echoes     int            // the harness's own changes that it saw in the meantime
	failed     int            // the harness's own changes that failed in the meantime

	echoesBefore, echoesAfter int // changes that it saw before the fault was seen, and after the revert began

	done history.Moment // when it had settled with more replicas than it had
	saw  string
}

func followStall(f *evidence.Run, key history.Key, seen, undo history.Offset) stall {
	s := stall{seen: seen, undo: undo, saw: "nothing"}
	ready, final := make(map[string]bool), false // by UID
	services := servicesOf(f, key)
	evidence.Moments(f.Record, func(at history.Offset, now *history.State) {
		w, known := now.Workloads[key]
		switch {
		case !known || at >= f.End():
			return
		case at <= seen:
			s.had = w.Replicas
		}
		if at < undo {
			s.asked = w.Replicas
		}
		for _, pod := range evidence.LivePods(now, w) {
			if !pod.Ready || ready[pod.UID] {
				continue
			}
			if ready[pod.UID] = true; at >= undo && at-f.LateBy(at) < undo {
				s.unclear = append(s.unclear, pod.Name+" came to be ready")
			} else if at > seen+evidence.WatchSkew && at < undo {
				if s.through = append(s.through, fmt.Sprintf("%s on %s at %s", pod.Name, pod.Node, prose.Moment(at))); len(s.through) == 1 {
					s.first = at
				}
			}
		}
		if final {
			return
		}
		var done bool
		done, s.saw = recoveredNow(now, key, services)
		s.done = history.Moment{At: max(at, undo), OK: done && w.Replicas > s.had && at > seen}
		final = s.done.OK && at >= undo
	})
	s.hear(f)
	return s
}

// hear counts the results of the harness's own changes.
func (s *stall) hear(f *evidence.Run) {
	for _, e := range f.Record.Events {
		switch {
		case e.Echo == nil:
		case e.Echo.Error != "":
			if e.T > s.seen && e.Echo.Sent < s.undo {
				s.failed++
			}
		case e.T < s.seen:
			s.echoesBefore++
		case e.Echo.Sent > s.undo:
			s.echoesAfter++
		case e.Echo.Sent > s.seen+evidence.WatchSkew && e.T < s.undo:
			s.echoes++
		}
	}
}
