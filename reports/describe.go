package reports

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports/words"
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
			list = append(list, fmt.Sprintf("at %s: %s", words.Moment(e.T), e.Trouble.What))
		case e.Gap != nil:
			what := "may have missed changes"
			if e.Gap.Bridged {
				what = "was late, but missed no changes"
			}
			list = append(list, fmt.Sprintf("from %s to %s the watch of %s %s: %s",
				words.Moment(e.Gap.Since), words.Moment(e.T), e.Gap.What, what, e.Gap.Why))
		}
	}
	return prose.First(list, limit)
}

// Sent is the number of requests to the system under test. Those of the control lane do not go there.
func (s *Scenario) Sent() (n uint64) {
	for i := range s.Lanes {
		if s.Lanes[i].Name != history.LaneControl {
			n += s.Lanes[i].Sent()
		}
	}
	return n
}

// Failed is the number of those that failed.
func (s *Scenario) Failed() (n uint64) {
	for i := range s.Lanes {
		if s.Lanes[i].Name != history.LaneControl {
			n += s.Lanes[i].Failed
		}
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
	for i := range s.Lanes {
		if l := &s.Lanes[i]; l.Name != history.LaneControl && (l.Lag.P99 > worst.P99 || worst == Quantiles{}) {
			worst = l.Lag
		}
	}
	return worst
}

// P99 is the worst of the lanes' 99th percentiles from due.
func (s *Scenario) P99() (worst Seconds) {
	for i := range s.Lanes {
		if s.Lanes[i].Name != history.LaneControl {
			worst = max(worst, s.Lanes[i].Latency.P99)
		}
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
