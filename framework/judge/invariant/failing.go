package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/failures"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/outage"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// failing counts the requests that fail at any time under load. The promises that limit their number judge by it.
type failing struct {
	named    []history.Lane // none: all but the control lane
	facts    *evidence.Run
	tally    *requests.Stats
	failures *failures.Failures
	// beside are outages whose failures the promise does not count; nil: it counts all.
	beside *outage.Sorter
	spared string // what these outages explain, in words
}

func newFailing(lanes []history.Lane, f *evidence.Run, t *requests.Stats) failing {
	return failing{named: lanes, facts: f, tally: t, failures: failures.NewFailures(f)}
}

// besides is the same of a promise about what is planned: what something involuntary explains, for which other says what is promised, is not counted.
func (j failing) besides(other FailuresEndWithin) failing {
	j.beside = other.sorter(j.facts)
	j.beside.Failures = j.failures
	return j
}

func (j *failing) Take(r *history.Request) {
	if j.beside != nil && !r.Outcome.Failed() && r.Outcome != history.Unsent {
		for _, o := range j.beside.Outages {
			o.Answered(r, r.Lane != history.LaneControl)
		}
	}
	switch {
	case !r.Outcome.Failed():
	case Judges(j.named, r.Lane):
		j.failures.Add(r)
	case r.Lane == history.LaneControl:
		j.failures.AddNoise(r)
	}
}

// counted are the failures, apart by whether the harness's own noise or a busy machine explains them, and what is missing to judge by them.
type counted struct {
	lanes   []history.Lane
	blamed  *failures.Failures
	noise   failures.Excused
	missing verdict.Missing
}

// count counts the failures after the last request, and measures what every promise about their number measures.
func (j *failing) count(disrupted evidence.Disruptions, missing verdict.Missing) (v verdict.Verdict, c counted) {
	c.lanes = j.tally.Judged(j.named)
	c.missing = slices.Concat(missing, j.facts.Disrupted(disrupted), j.tally.Delivered(c.lanes), j.tally.Reached(c.lanes))
	j.tally.Numbers(&v, c.lanes)
	j.tally.VictimNumbers(&v, c.lanes)
	disrupted.Numbers(&v)
	c.missing = append(c.missing, j.spare()...)
	v.Measure("failed", float64(j.failures.Total))
	c.blamed, c.noise = j.failures.Blamed()
	c.noise.Numbers(&v)
	v.Measure(requests.DoubtsNumber, float64(len(c.missing)))
	v.Measure(requests.StarvedNumber, float64(len(j.tally.Starved(c.lanes))))
	v.Measure(requests.ExcusedNumber, float64(c.noise.Total))
	if line := j.tally.PerWorker(c.lanes); line != "" {
		v.Support(line)
	}
	return v, c
}

// spare leaves out the failures that something involuntary explains. Those that the planned part explains as well are a doubt.
func (j *failing) spare() (d verdict.Missing) {
	if j.beside == nil {
		return nil
	}
	all := j.failures.Total
	rest, either := j.beside.Planned()
	if j.failures = rest; either > 0 {
		d.Add("%d of %s may be the planned disturbance's as well as those of what else happened at that time: nothing tells whose they are",
			either, prose.Count(all, "failure"))
	}
	if spared := all - either - rest.Total; spared > 0 {
		j.spared = fmt.Sprintf(", without %s that something involuntary explains", prose.Count(spared, "failure"))
	}
	return d
}

// inFlight describes how many requests were in flight during each fault.
func (j *failing) inFlight(v *verdict.Verdict, lanes []history.Lane) {
	for i, fault := range j.facts.Faults {
		var n uint64
		for _, lane := range lanes {
			if l := j.tally.Find(lane); l != nil {
				n += l.InFlight[i]
			}
		}
		v.Support(fmt.Sprintf("%s while %s was on, from %s to %s", prose.Count(n, "request"), fault.Name,
			prose.Moment(fault.Injecting.At), prose.Moment(fault.Healed.At)))
	}
}
