package reports

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Describe makes the report of a scenario from its record and verdicts. It reads the requests once, in memory that does not grow with
// their number. A damaged record is described as far as it goes, and is never Held.
func Describe(run history.Run, verdicts []verdict.Verdict) Scenario {
	if run.Header.Recorded != nil {
		run = disturbances.Read(run).Marked()
	}
	begin, end := bounds(run.Events)
	s := Scenario{
		Name: run.Header.Scenario, Claim: run.Header.Claim, Application: run.Header.Application, Notes: notesOf(run.Header), Facts: factsOf(run.Header), Incomplete: run.Incomplete, Seed: run.Header.Seed,
		Cluster: clusterOf(run.Header.Cluster), Took: Seconds(end - begin), Trouble: troubles(run.Events), Zones: zones(run.Events, end), End: end,
	}
	for _, p := range run.Phases() {
		s.Phases = append(s.Phases, Phase{p.Name, Seconds(p.From), Seconds(p.To)})
	}
	for _, f := range timeline.Faults(run) {
		s.Faults = append(s.Faults, faultOf(f))
	}
	if run.Header.Mutant != nil {
		s.Mutant = &Mutant{Mutant: *run.Header.Mutant}
		if caught := judge.FoundBy(run, verdicts).Caught; caught != nil {
			s.Mutant.Verdict = new(newVerdict(*caught))
		}
	}
	s.From, s.To = axis(run, begin, end)
	s.countAffected(run)
	s.measure(run)
	s.Disruptions, s.APIAway = disruptions(run), apiAwayOf(run)
	s.Noise, s.WatchDelay = noiseOf(run.Events)
	s.Remedies = judge.Remedies(run, verdicts)
	s.conclude(verdicts)
	return s
}

// factsOf are what was found out about a cluster that holdfast did not make.
func factsOf(h history.Header) (list []Fact) {
	for _, f := range h.Facts {
		switch {
		case f.Is == "":
			f.Is = "not known: " + f.Why
		case f.Why != "":
			f.Is += " (" + f.Why + ")"
		}
		list = append(list, Fact{Name: f.Name, Found: f.Is})
	}
	return list
}

// conclude adds the verdicts, and the result that they come to.
func (s *Scenario) conclude(verdicts []verdict.Verdict) {
	for _, v := range verdicts {
		s.Verdicts = append(s.Verdicts, newVerdict(v))
	}
	s.Result, s.Why = s.sumUp()
	s.complete()
}

// measure reads the requests. A scenario without a load plan and without requests has no lanes.
func (s *Scenario) measure(run history.Run) {
	width := bucketWidth(s.To - s.From)
	if steady, _, ok := run.Window(history.Steady); ok && steady > s.From {
		// A bucket begins when the load begins. A bucket that began earlier would show a lower rate than planned.
		s.From = steady - (steady-s.From+width-1)/width*width
	}
	load := newSeries(s.From, width, run.Header.Plan)
	for i := range s.Faults {
		f := &s.Faults[i]
		load.faults = append(load.faults, inFlight{from: f.Began(), to: f.Ended(max(s.End, s.To)), requests: &f.RequestsInFlight})
	}
	load.causes = attribution.NewFailureCauses(run)
	if err := load.read(run.Requests); err != nil && s.Incomplete == "" {
		s.Incomplete = err.Error()
	}
	if len(load.lanes) == 0 {
		return
	}
	for i := range run.Events {
		if g := run.Events[i].Gateway; g != nil {
			s.Gateway = g
		}
	}
	s.Lanes, s.BucketWidth, s.OffAxis = load.done(run.Header.Plan), load.width, load.offAxis
	s.To = max(s.To, load.last)
	for _, c := range load.causes.Counts() {
		s.Causes = append(s.Causes, Cause{Cause: c.Cause, Words: c.Cause.Words(), Failed: c.Failed, Known: c.Known})
	}
}

// troubles are the errors of the harness and the gaps in its watches. The list is bounded, because a harness in trouble repeats itself.
func troubles(events []history.Event) []string {
	const limit = 20
	var list []string
	for i := range events {
		switch e := &events[i]; {
		case e.Trouble != nil:
			list = append(list, fmt.Sprintf("at %s: %s", prose.Moment(e.T), e.Trouble.What))
		case e.Gap != nil:
			what := "may have missed changes"
			if e.Gap.Bridged {
				what = "was late, but missed no changes"
			}
			list = append(list, fmt.Sprintf("from %s to %s the watch of %s %s: %s",
				prose.Moment(e.Gap.Since), prose.Moment(e.T), e.Gap.What, what, e.Gap.Why))
		}
	}
	return prose.First(list, limit)
}

// tested are the lanes that lead to the system under test. Requests of the control lane do not go there.
func (s *Scenario) tested(yield func(*Lane) bool) {
	for i := range s.Lanes {
		if l := &s.Lanes[i]; l.Name != history.LaneControl && !yield(l) {
			return
		}
	}
}

// Sent is the number of requests to the system under test.
func (s *Scenario) Sent() (n uint64) {
	for l := range s.tested {
		n += l.Sent()
	}
	return n
}

// Failed is the number of those that failed.
func (s *Scenario) Failed() (n uint64) {
	for l := range s.tested {
		n += l.Failed
	}
	return n
}

// Unsent is the number of requests on all lanes that were due and never sent: missing evidence.
func (s *Scenario) Unsent() (n uint64) {
	for i := range s.Lanes {
		n += s.Lanes[i].Unsent
	}
	return n
}

// Lag is how late requests were sent, on the lane with the latest 99th percentile.
func (s *Scenario) Lag() (worst Quantiles) {
	for l := range s.tested {
		if l.Lag.P99 > worst.P99 || worst == (Quantiles{}) {
			worst = l.Lag
		}
	}
	return worst
}

// P99 is the worst of the lanes' 99th percentiles from due.
func (s *Scenario) P99() (worst Seconds) {
	for l := range s.tested {
		worst = max(worst, l.Latency.P99)
	}
	return worst
}

// notesOf are the record's own notes, and what is different in a cluster with simulated nodes.
func notesOf(h history.Header) []string {
	notes := slices.Clone(h.Notes)
	if n := h.Cluster.SimulatedNodes; n > 0 {
		notes = append(notes, fmt.Sprintf("The cluster has %s: their pods are reported ready, and run nothing. A node is lost after %s without a renewal of its lease.",
			prose.Count(n, "simulated node"), h.Cluster.Timings.NodeMonitorGrace))
	}
	return notes
}

// axis picks what a timeline shows: the time under load, or without load the time from the deployment on, and a margin on each side.
// Provisioning is left out, because it can last longer than everything else and shows nothing.
func axis(run history.Run, begin, end history.Offset) (from, to history.Offset) {
	from, to = begin, end
	if deploy, _, ok := run.Window(history.Deploy); ok {
		from = deploy
	}
	if drained, _, ok := run.Window(history.Drained); ok {
		to = min(to, drained+margin(drained-from))
	}
	if steady, _, ok := run.Window(history.Steady); ok {
		from = max(from, steady-margin(to-steady))
	}
	return from, max(to, from+time.Millisecond)
}

func margin(shown time.Duration) time.Duration {
	const share = 15 // about 7 %: room for a label
	return shown / share
}

// bounds are the times of the first and the last event of a record. The header is no event of the run.
func bounds(events []history.Event) (begin, end history.Offset) {
	for i := range events {
		if events[i].Header == nil {
			begin = events[i].T
			break
		}
	}
	for i := range events {
		end = max(end, events[i].T)
	}
	return min(begin, end), end
}

// Began is the first known moment of a fault, or zero.
func (f *Fault) Began() history.Offset {
	if t := cmp.Or(f.Injecting, f.Seen, f.Healing, f.Healed); t != nil {
		return history.Offset(*t)
	}
	return 0
}

// Ended is when a fault was seen reverted, or end if it never was.
func (f *Fault) Ended(end history.Offset) history.Offset {
	if f.Healed == nil {
		return end
	}
	return history.Offset(*f.Healed)
}

// countAffected counts the pods and nodes that the watches saw lost during each fault. A fault that was never reverted lasts to the end.
func (s *Scenario) countAffected(run history.Run) {
	owned, seen := newOwners(run.Events), timeline.New(run.Events)
	for i := range s.Faults {
		f := &s.Faults[i]
		from, to := f.Began(), f.Ended(s.End)
		f.NodeLosses, f.PodRestarts = len(seen.NodeLosses(from, to)), restarts(run.Events, owned, from, to)
		for _, end := range seen.Terminations(from, to) {
			if owned.workload(end.Last()) != "" {
				f.PodTerminations++
			}
		}
	}
}

// restarts counts the container restarts in the pods of workloads between two moments.
func restarts(events []history.Event, owned *owners, from, to history.Offset) (n int) {
	before := make(map[string]int) // by UID
	for i := range events {
		e := &events[i]
		if e.Pod == nil || e.Pod.Ended() || owned.workload(e.Pod) == "" {
			continue // a restarted kubelet adds a restart to a pod that it had evicted
		}
		if more := e.Pod.Restarts - before[e.Pod.UID]; more > 0 && e.T >= from && e.T < to {
			n += more
		}
		before[e.Pod.UID] = e.Pod.Restarts
	}
	return n
}

// disruptions counts what the faults took away. The verdicts count in the same way, so a report agrees with its verdicts: what the
// harness itself added, what a revert changed, and nodes that no fault touched are no disruptions.
func disruptions(run history.Run) Disruptions {
	n := evidence.New(run).Disruptions()
	return Disruptions{PodTerminations: n.Terminations, NodeLosses: n.Losses}
}
