package invariant

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// RecoversWithin promises that within a limit of the start of the last revert the workload settles, and stays settled until the end
// of Recovered: exactly its replicas exist and are ready, and the EndpointSlices of the Service of the same name list exactly its
// ready pods. A fault that is not reverted counts from when it was seen.
//
// The limit does not count from when the fault was seen to be reverted, because that is often the workload's own recovery.
// FromFault counts from before the first disturbance, for claims about the cost of a fault: one that deletes pods and reverts
// nothing, or one that is seen only when the workload has settled again, such as a rollout.
//
// In a recording every workload that was disturbed is judged, after each time in which it was, and every Service that had its pods as
// endpoints counts: one that offered all of them before offers all again, and another one at least as many as before.
//
// Evidence: a workload that was disturbed, and that was watched for at least the limit unless it settled before.
type RecoversWithin struct {
	Limit time.Duration `json:"limit"`
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
	// FromFault counts from when the first fault began to be applied, and not from the last revert.
	FromFault bool `json:"fromFault,omitempty"`
}

func (p RecoversWithin) String() string {
	who := whose(p.Workload)
	if p.FromFault {
		return fmt.Sprintf("%s recovers within %s of the beginning of the fault", who, p.Limit)
	}
	return fmt.Sprintf("%s recovers within %s", who, p.Limit)
}

// Needs implements Invariant.
func (p RecoversWithin) Needs() evidence.Needs {
	return evidence.Needs{
		Watches:         evidence.Ordered,
		Since:           evidence.Undisturbed,
		Standing:        true,
		MovedByNodeLoss: true,
		Soon:            true,
		Parts:           []evidence.Part{evidence.PartPods, evidence.PartWorkloads, evidence.PartSlices},
	}
}

// Judge implements EventInvariant.
func (p RecoversWithin) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	from, ok := p.from(f)
	if !ok || len(ambiguous) > 0 { // without such a moment, which FaultsActive reports
		return verdict.Verdict{}.Unknown(missing)
	}
	r := followRecovery(f, key)
	switch {
	case r.disturbed:
	case f.Record.Header.Recorded != nil && len(missing) == 0:
		return verdict.Verdict{}.NotTested(key.Name + " was never disturbed")
	default:
		missing.Add("%s was never disturbed", key.Name)
	}
	return p.verdict(f, r, from, key.Name, missing)
}

// Of implements WorkloadInvariant.
func (p RecoversWithin) Of(w history.Workload) []Invariant {
	if p.Workload != "" && p.Workload != w.Name {
		return nil
	}
	p.Workload = w.Name
	return []Invariant{p}
}

// Watched implements WatchingInvariant.
func (p RecoversWithin) Watched() time.Duration { return p.Limit }

// since is the moment from which a recovery counts.
type since struct {
	at    history.Offset
	words string
}

func (p RecoversWithin) from(f *evidence.Run) (from since, ok bool) {
	if p.FromFault {
		from.at, ok = f.FirstInjecting()
		from.words = "the fault began"
		if f.Record.Header.Recorded != nil {
			from.words = "the disturbance began"
		}
		return from, ok
	}
	from.at, ok = f.LastRevert()
	from.words = "the last revert began"
	if f.Record.Header.Recorded != nil {
		from.words = "the last disturbance was over"
	}
	return from, ok
}

func (p RecoversWithin) verdict(f *evidence.Run, r recovery, from since, name string, missing verdict.Missing) verdict.Verdict {
	v := verdict.Verdict{}
	v.Measure("limitSeconds", p.Limit.Seconds())
	watched, late := f.End()-from.at, from.at+p.Limit
	if !r.recovered.OK {
		v.Measure("watchedSeconds", watched.Seconds())
		v.Support("at the end: " + r.saw)
		if f.Unseen(late, f.End()) {
			return v.Unknown(append(missing, f.Late(f.Steady())...))
		}
		if watched < p.Limit {
			missing.Add("%s had not recovered when the record ended, %s after %s: %s", name, prose.Moment(watched), from.words, r.saw)
			return v.Unknown(missing)
		}
		if unsure := f.MayBeInTime(&v, from.at, f.End(), p.Limit); len(unsure) > 0 {
			return v.Unknown(append(missing, unsure...))
		}
		v.At = late
		return v.Violated(missing, "%s had not recovered %s after %s at %s: %s", name, prose.Moment(watched), from.words, prose.Moment(from.at), r.saw)
	}
	took := max(0, r.recovered.At-from.at)
	v.Measure("recoveredSeconds", took.Seconds())
	v.AtMost("recoveredSeconds", p.Limit.Seconds())
	v.Support(fmt.Sprintf("%s at %s; settled for good at %s: %s", from.words, prose.Moment(from.at), prose.Moment(r.recovered.At), r.saw))
	if took > p.Limit && f.Unseen(late, r.recovered.At) {
		return v.Unknown(append(missing, f.Late(f.Steady())...))
	}
	if unsure := f.MayBeInTime(&v, from.at, r.recovered.At, p.Limit); took > p.Limit && len(unsure) > 0 {
		return v.Unknown(append(missing, unsure...))
	}
	if took > p.Limit {
		v.At = late
		return v.Violated(missing, "%s recovered %s after %s at %s, and %s was the limit", name, prose.Moment(took), from.words, prose.Moment(from.at), p.Limit)
	}
	if !p.FromFault && !f.AllReverted() {
		missing = append(missing, f.MayBeTooLate(from.at, r.recovered.At, p.Limit)...)
	}
	return v.Held(missing, "%s had recovered %s after %s at %s: %s", name, prose.Moment(took), from.words, prose.Moment(from.at), r.saw)
}

// recovery is how a workload recovered.
type recovery struct {
	disturbed bool           // it was not settled at some time during a fault
	recovered history.Moment // when it settled for the last time
	saw       string         // the state at the end of Recovered
}

func followRecovery(f *evidence.Run, key history.Key) (r recovery) {
	end := f.End()
	began, over := f.FaultsOn()
	services := servicesOf(f, key)
	var done bool
	var saw string
	var last history.Changes
	evidence.Moments(f.Record, func(at history.Offset, s *history.State) {
		if at >= end {
			return
		}
		w := s.Workloads[key]
		if now := s.Changes(w.Pods()); saw == "" || now != last { // most events are about other workloads
			last = now
			if at < began {
				services.remember(s, key)
			}
			done, saw = recoveredNow(s, key, services)
		}
		switch {
		case !done:
			r.recovered = history.Moment{}
		case !r.recovered.OK:
			r.recovered = history.Moment{At: at, OK: true}
		}
		r.saw = saw
		r.disturbed = r.disturbed || !done && at >= began && at <= over
	})
	return r
}

// recoveredNow says whether a workload has settled and its EndpointSlices match its pods.
func recoveredNow(s *history.State, key history.Key, services offerings) (done bool, saw string) {
	w, done := evidence.Settled(s, key)
	ready := make(map[string]bool)
	for _, p := range s.ReadyPods(w.Pods()) {
		ready[p.Name] = true
	}
	endpoints := 0
	for _, o := range services {
		offered := o.now(s, key)
		endpoints = max(endpoints, len(offered))
		done = done && o.back(offered, ready)
	}
	saw = fmt.Sprintf("%d of %s ready, %s, %s", len(ready), prose.Count(w.Replicas, "replica"),
		prose.Count(len(evidence.LivePods(s, w)), "pod"), prose.Count(endpoints, "ready endpoint"))
	if len(services) == 0 {
		saw += " (no Service leads to its pods)"
	}
	return done, saw
}
