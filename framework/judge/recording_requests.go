package judge

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// passing is the requests of an episode, or of the time outside of all, on their way through the promises about them.
type passing struct {
	where    string
	from, to history.Offset
	facts    *evidence.Run
	tally    *requests.Stats
	checks   []invariant.RequestCheck // by promise; nil: the episode is no test of it
}

// judgeRequests judges the promises about requests, in one pass over the requests. The error is one of reading them.
func (r *recording) judgeRequests() error {
	services := r.run.Header.Recorded.Services
	if !slices.ContainsFunc(r.promises, aboutRequests) {
		return nil
	}
	if len(services) == 0 {
		r.rows.Add("the recording does not say behind which Services its requests end")
		return nil
	}
	if same := ofOneName(slices.Values(services)); same != "" {
		r.rows.Add("the requests end behind %s, and Services of one name are not told apart: record one namespace at a time, with -n", same)
		return nil
	}
	reached := r.Parts.Behind(services)
	if same := ofOneName(r.pods(reached)); same != "" {
		r.rows.Add("the requests may meet %s, and pods of one name are not told apart: record one namespace at a time, with -n", same)
		return nil
	}
	var all []*passing
	for _, e := range r.Episodes(r.watched, reached...) {
		p := r.passing(where("requests", e), e.Run)
		p.from, p.to = e.From, e.To
		p.tally.Part = true
		for i := range r.promises {
			if aboutRequests(r.promises[i]) && r.tests(i, e) {
				p.checks[i] = r.check(i, e, p)
			}
		}
		all = append(all, p)
	}
	r.reached = len(all)
	quiet := r.passing("while nothing that requests reach was disturbed", r.Quiet(reached...))
	for i, p := range r.promises {
		if r.answersForQuiet(p) {
			quiet.checks[i] = p.(invariant.RequestInvariant).Requests(quiet.facts, quiet.tally)
		}
	}
	_, ends := r.both(nil)
	lasts := func(kind disturbances.Kind) time.Duration {
		return cmp.Or(ends, &invariant.FailuresEndWithin{}).Lasts(r.run, kind == disturbances.NodeLost)
	}
	unclear := &unclear{during: r.Unclear(lasts, reached...), unseen: r.Unseen(reached...)}
	err := pass(r.run.Requests, all, quiet, unclear)
	r.rows = append(r.rows, unclear.doubts()...)
	r.end(all, quiet, err)
	return err
}

// ofOneName are the first two of some objects, written as namespace/name, that have the same name; empty: there are none. Endpoints, shares and fronts
// know the name of a Service alone, and requests that of a pod.
func ofOneName(objects iter.Seq[string]) string {
	had := make(map[string]string)
	for object := range objects {
		_, name, _ := strings.Cut(object, "/")
		if other, again := had[name]; again && other != object {
			return prose.List([]string{other, object})
		}
		had[name] = object
	}
	return ""
}

// pods are those of some parts, once for each of their events.
func (r *recording) pods(of []*parts.Part) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range r.run.Events {
			if e.Pod != nil && slices.Contains(of, r.Parts.OfPod(e.Pod.UID)) && !yield(e.Pod.Namespace+"/"+e.Pod.Name) {
				return
			}
		}
	}
}

// unclear counts failures that something may explain of which too little is known.
type unclear struct {
	during, unseen []disturbances.Disturbance
	failed, hidden uint64 // outside of all episodes because of what is in during, and anywhere because of what is in unseen
}

// takes counts a failure that something may explain. Within says that it is one of an episode.
func (u *unclear) takes(r *history.Request, within bool) bool {
	explains := func(d disturbances.Disturbance) bool { return r.Done >= d.From && r.Sent <= d.Over }
	switch {
	case !r.Outcome.Failed():
		return false
	case slices.ContainsFunc(u.unseen, explains):
		u.hidden++
		return true
	case !within && slices.ContainsFunc(u.during, explains):
		u.failed++
		return true
	}
	return false
}

func (u *unclear) doubts() (d verdict.Missing) {
	if u.hidden > 0 {
		d.Add("%s failed that %s may explain, of which nothing is known: nodes were not watched, and %s",
			prose.Count(u.hidden, "request"), u.unseen[0].Name, u.unseen[0].Words)
	}
	if u.failed > 0 {
		d.Add("%s failed that %s may explain, which began before the recording was judged, or ended after it",
			prose.Count(u.failed, "request"), u.during[0].Name)
	}
	return d
}

func aboutRequests(p invariant.Invariant) bool {
	_, ok := p.(invariant.RequestInvariant)
	return ok
}

func (r *recording) passing(where string, run history.Run) *passing {
	f := evidence.New(run)
	return &passing{where: where, facts: f, tally: requests.NewTally(f), checks: make([]invariant.RequestCheck, len(r.promises))}
}

// tests says whether an episode is a test of a promise. Where both are promised, those about what is planned are about voluntary disturbances, and
// FailuresEndWithin about involuntary ones. An episode with both is a test of both.
func (r *recording) tests(i int, e *disturbances.Episode) bool {
	planned, ends := r.both(nil)
	switch r.promises[i].(type) {
	case invariant.PlannedInvariant, invariant.AnswersWithin:
		return e.Voluntary() || ends == nil
	case invariant.FailuresEndWithin:
		return e.Involuntary() || !planned
	}
	return true
}

// check begins to judge an episode by a promise. In one with both, what either part explains is judged by the promise about it.
func (r *recording) check(i int, e *disturbances.Episode, p *passing) invariant.RequestCheck {
	promise := r.promises[i].(invariant.RequestInvariant)
	if !e.Voluntary() || !e.Involuntary() {
		return promise.Requests(p.facts, p.tally)
	}
	switch promise := promise.(type) {
	case invariant.PlannedInvariant:
		if _, ends := r.both(promise.OnLanes()); ends != nil {
			return promise.Beside(*ends, p.facts, p.tally)
		}
	case invariant.FailuresEndWithin:
		if planned, _ := r.both(nil); planned {
			return promise.BesidePlanned(p.facts, p.tally)
		}
	}
	return promise.Requests(p.facts, p.tally)
}

// answersForQuiet says whether a promise is broken by requests that fail while nothing is disturbed.
func (r *recording) answersForQuiet(p invariant.Invariant) bool {
	_, about := p.(invariant.PlannedInvariant)
	_, ends := p.(invariant.FailuresEndWithin)
	planned, _ := r.both(nil)
	return about || ends && !planned
}

// both says whether there is a promise about what is planned, and which is about what is involuntary, of some lanes; none means any. Nil: there is none.
func (r *recording) both(lanes []history.Lane) (planned bool, ends *invariant.FailuresEndWithin) {
	for _, p := range r.promises {
		switch p := p.(type) {
		case invariant.PlannedInvariant:
			planned = true
		case invariant.FailuresEndWithin:
			same := len(lanes)+len(p.Lanes) == 0 || slices.ContainsFunc(p.Lanes, func(l history.Lane) bool { return slices.Contains(lanes, l) })
			if ends == nil || same {
				ends = &p
			}
		}
	}
	return planned, ends
}

// pass gives each request to the episode in which it was due, or to the time outside of all. All are counted there.
func pass(all history.Requests, episodes []*passing, quiet *passing, unclear *unclear) error {
	if all == nil {
		return nil
	}
	for request, err := range all() {
		if err != nil {
			return err
		}
		i, within := slices.BinarySearchFunc(episodes, request.Due, func(p *passing, at history.Offset) int {
			switch {
			case p.to <= at:
				return -1
			case p.from > at:
				return 1
			}
			return 0
		})
		counts, of := quiet.tally.See(request), quiet
		if within {
			of = episodes[i]
			counts = of.tally.See(request)
		}
		if counts && !unclear.takes(request, within) {
			of.check(request)
		}
	}
	return nil
}

func (p *passing) check(request *history.Request) {
	for _, check := range p.checks {
		if check != nil {
			check.Take(request)
		}
	}
}

// end collects the verdicts.
func (r *recording) end(all []*passing, quiet *passing, err error) {
	if err != nil {
		r.rows.Add("%s", unread(err))
	}
	r.rows = append(r.rows, quiet.tally.Whole()...)
	for i, p := range r.promises {
		if check := quiet.checks[i]; check != nil {
			if v := one(quiet.facts, p, check); v.Outcome == verdict.Violated {
				r.found[i] = append(r.found[i], judged{quiet.where, v})
			}
		}
		for _, e := range all {
			if e.checks[i] == nil {
				continue
			}
			r.found[i] = append(r.found[i], judged{e.where, r.met(i, e, one(e.facts, p, e.checks[i]))})
		}
	}
}

// met demands of a promise that is held that requests came to a pod that was disturbed. If no endpoint of their Services was disturbed,
// the episode is no test.
func (r *recording) met(i int, e *passing, v verdict.Verdict) verdict.Verdict {
	lanes := r.lanes(i, e)
	if v.Outcome != verdict.Held || e.tally.Met(lanes) {
		return v
	}
	if unmet := e.tally.Unmet(r.run.Header.Recorded.Services); len(unmet) > 0 {
		return v.Unknown(unmet)
	}
	return v.NotTested("nothing took a pod that received requests")
}

// lanes are those that a promise judges.
func (r *recording) lanes(i int, e *passing) []history.Lane {
	if p, ok := r.promises[i].(invariant.LaneInvariant); ok {
		return e.tally.Judged(p.OnLanes())
	}
	return e.tally.Judged(nil)
}

// tested takes back that promises about requests were not tested, where none of them was: the load had a purpose.
func (r *recording) tested(verdicts []verdict.Verdict) {
	for i, p := range r.promises {
		if v := &verdicts[i]; aboutRequests(p) && (v.Outcome != verdict.Unknown || !v.Untested) {
			return
		}
	}
	for i, p := range r.promises {
		if aboutRequests(p) {
			verdicts[i].Untested = false
		}
	}
}

// numbers adds up the figures of episodes: counts are summed, and of others the largest is kept. The upper bounds follow from the sums.
func numbers(all []judged) map[string]float64 {
	sums := make(map[string]float64)
	for _, one := range all {
		for name, n := range one.Numbers {
			if had, known := sums[name]; known && counts(name) {
				n += had
			} else if known {
				n = max(n, had)
			}
			sums[name] = n
		}
	}
	for name := range sums {
		if lane, ok := strings.CutPrefix(name, "upperBound95."); ok {
			sums[name] = stats.UpperBound95(uint64(sums["requests."+lane]))
		}
	}
	return sums
}

// counted are the figures that count something, by the beginnings of their names.
var counted = []string{
	"requests", "failed", "cause", "podTerminations", "podRestarts", "nodeLosses", "podAdditions", "accepted", "refused", "bindings", "unsent.",
	"victimAnswers.", "excused", "maskedByGateway", evidence.BusyNumber, evidence.OwnNumber,
}

func counts(name string) bool {
	return slices.ContainsFunc(counted, func(beginning string) bool { return strings.HasPrefix(name, beginning) }) && !strings.HasPrefix(name, "failedShare")
}
