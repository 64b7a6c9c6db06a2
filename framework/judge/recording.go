package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// recording judges a recording: each promise in each episode, of each part of the cluster that was disturbed.
type recording struct {
	*disturbances.Recording
	run      history.Run
	promises []invariant.Invariant
	watched  time.Duration // after a disturbance
	placed   time.Duration // the same, for promises about where pods are
	shown    []disturbances.Disturbance
	doubts   verdict.Missing // about the whole recording
	rows     verdict.Missing // about all its requests
	found    [][]judged      // by promise
	reached  int             // episodes in which something was disturbed that requests reach
}

// judged is a verdict on one episode.
type judged struct {
	where string // "shop/checkout from 1m2s to 4m"
	verdict.Verdict
}

// checkRecording judges a recording by each promise. The error is one of reading the requests.
func checkRecording(run history.Run, promises []invariant.Invariant) ([]verdict.Verdict, error) {
	r := &recording{Recording: disturbances.Read(run), run: run, promises: promises, found: make([][]judged, len(promises))}
	for _, p := range promises {
		switch w, ok := p.(invariant.WatchingInvariant); {
		case ok && aboutPlaces(p):
			r.placed = max(r.placed, w.Watched())
		case ok:
			r.watched = max(r.watched, w.Watched())
		}
	}
	r.shown = r.Shown()
	r.doubts = r.doubtful()
	r.judgeEvents()
	err := r.judgeRequests()
	verdicts := make([]verdict.Verdict, len(promises))
	prefix := nodePrefix(run.Header.Cluster.Name)
	for i, p := range promises {
		v := r.sum(i)
		v.Promise, v.Kind = p.String(), invariant.Kind(p)
		verdicts[i] = shorten(v, prefix)
	}
	r.tested(verdicts)
	return verdicts, err
}

// doubtful is why nothing that was recorded proves anything.
func (r *recording) doubtful() (d verdict.Missing) {
	if slices.ContainsFunc(r.run.Events, func(e history.Event) bool { return e.Fault != nil }) {
		d.Add("the record contradicts itself: it is a recording, and it has faults of holdfast's own")
	}
	if r.run.Incomplete != "" {
		d.Add("the record is incomplete: %s", r.run.Incomplete)
	}
	for _, name := range []history.PhaseName{history.Steady, history.Drained} {
		if _, _, ok := r.run.Window(name); !ok {
			d.Add("the record has no phase %s", name)
		}
	}
	_, to := r.run.UnderLoad()
	for _, e := range r.run.Troubles() {
		if e.T >= to { // before, what it spoils is what was disturbed then
			d.Add("trouble at %s, while the recording was ended: %s", prose.Moment(e.T), e.Trouble.What)
		}
	}
	return append(append(d, r.command()...), r.effect()...)
}

// effect reports that nothing was seen of what holdfast itself did: what others did meanwhile shows nothing of it.
func (r *recording) effect() (d verdict.Missing) {
	does := r.run.Header.Recorded.Does
	begin, end, ran := r.Command()
	seen := func(d disturbances.Disturbance) bool {
		return slices.ContainsFunc(does, func(does string) bool { return r.is(&d, does) }) && d.From <= end+evidence.WatchSkew && max(d.Seen, d.Over) >= begin
	}
	if len(does) > 0 && (!ran || !slices.ContainsFunc(r.All, seen)) {
		d.Add("what holdfast did had no effect: the watches saw no %s meanwhile", strings.Join(does, " or "))
	}
	return d
}

// is says whether a disturbance may be what holdfast did: see history.Recorded. Of a disturbance that names no workload, its pods tell which it was.
func (r *recording) is(d *disturbances.Disturbance, does string) bool {
	kind, of, named := strings.Cut(does, " of ")
	is := func(key history.Key) bool { return parts.Name(key) == of }
	return kind == string(d.Kind) && (!named || slices.Contains(d.Nodes, of) || slices.ContainsFunc(d.Workloads, is) || slices.ContainsFunc(d.Pods, func(p disturbances.Pod) bool {
		part := r.Parts.OfPod(p.UID)
		return p.Node == of || len(d.Workloads) == 0 && part != nil && slices.ContainsFunc(part.Workloads, is)
	}))
}

// command reports a command whose time is not known.
func (r *recording) command() (d verdict.Missing) {
	if len(r.run.Header.Recorded.Command) == 0 {
		return nil
	}
	from, to := r.run.UnderLoad()
	steps := slices.DeleteFunc(timeline.Steps(r.run), func(s timeline.StepLife) bool { return s.What != history.CommandStep })
	switch {
	case len(steps) != 1 || !steps[0].Begin.OK:
		d.Add("the record does not say when the command began")
	case !steps[0].End.OK:
		d.Add("the command had not ended when the recording ended")
	case steps[0].Begin.At < from || steps[0].End.At > to:
		d.Add("the command ran from %s to %s, and the recording is judged from %s to %s only",
			prose.Moment(steps[0].Begin.At), prose.Moment(steps[0].End.At), prose.Moment(from), prose.Moment(to))
	}
	return d
}

// judgeEvents judges the promises that read events, of each part that was disturbed. Those about where pods are have parts of their
// own.
func (r *recording) judgeEvents() {
	r.judgeParts(r.Joined, max(r.placed, r.watched), aboutPlaces)
	r.judgeParts(r.Parts, r.watched, func(p invariant.Invariant) bool {
		_, ok := p.(invariant.EventInvariant)
		return ok && !aboutPlaces(p)
	})
}

// aboutPlaces says whether a promise is about where pods are, which depends on all pods that their constraints are about.
func aboutPlaces(p invariant.Invariant) bool {
	_, spread := p.(invariant.SpreadWithin)
	_, ok := p.(invariant.PlacementInvariant)
	return ok || spread
}

func (r *recording) judgeParts(of *parts.Parts, watched time.Duration, which func(invariant.Invariant) bool) {
	if !slices.ContainsFunc(r.promises, which) {
		return
	}
	for _, part := range of.All {
		for _, e := range r.Episodes(watched, part) {
			f := evidence.New(e.Run)
			for i, p := range r.promises {
				if which(p) {
					r.judgeEpisode(f, i, e, part)
				}
			}
		}
	}
}

// judgeEpisode judges an episode by a promise, of each workload if the promise is about one.
func (r *recording) judgeEpisode(f *evidence.Run, i int, e *disturbances.Episode, part *parts.Part) {
	p := r.promises[i]
	of, aboutOne := p.(invariant.WorkloadInvariant)
	if !aboutOne {
		r.found[i] = append(r.found[i], judged{where(part.Name, e), one(f, p, nil)})
		return
	}
	for _, key := range part.Workloads {
		w, known := lastOf(e.Run, key)
		if !known {
			continue
		}
		for _, its := range of.Of(w) {
			r.found[i] = append(r.found[i], judged{where(parts.Name(key), e), one(f, its, nil)})
		}
	}
}

// lastOf is the last state of a workload in an episode.
func lastOf(run history.Run, key history.Key) (last history.Workload, known bool) {
	for _, e := range run.Events {
		if w := e.Workload; w != nil && w.Namespace == key.Namespace && w.Name == key.Name {
			last, known = *w, true
		}
	}
	return last, known
}

func where(name string, e *disturbances.Episode) string {
	return fmt.Sprintf("%s from %s to %s", name, prose.Moment(e.From), prose.Moment(e.To))
}

// sum adds up the verdicts of a promise.
func (r *recording) sum(i int) verdict.Verdict {
	all := r.found[i]
	v := verdict.Verdict{Numbers: numbers(all)}
	v.Measure("disturbances", float64(len(r.shown)))
	v.Measure("episodes", float64(len(all)))
	missing := r.notWatched(r.promises[i])
	if broken := ofOutcome(all, verdict.Violated); len(broken) > 0 && len(missing) == 0 { // otherwise what was not watched may say something else
		return r.broken(v, broken)
	}
	missing = append(slices.Clone(r.doubts), missing...)
	if aboutRequests(r.promises[i]) && (len(all) > 0 || r.reached == 0) {
		missing = append(missing, r.rows...)
	}
	for _, one := range ofOutcome(all, verdict.Unknown) {
		if !one.Untested {
			missing = append(missing, one.where+": "+reason(one.Verdict))
		}
	}
	switch held := ofOutcome(all, verdict.Held); {
	case len(missing) > 0:
		return v.Unknown(missing)
	case len(all) == 0:
		return r.nothing(v, r.promises[i])
	case len(held) == 0:
		return v.NotTested(reason(all[0].Verdict))
	default:
		return r.held(v, all, held)
	}
}

// kindsOf are the kinds of objects, as in Gap.What, that a part of a record consists of.
var kindsOf = map[evidence.Part][]string{
	evidence.PartPods: {"pods"}, evidence.PartRules: {"pods"}, evidence.PartNodes: {"nodes"}, evidence.PartWorkloads: {"deployments", "statefulsets"},
	evidence.PartSlices: {"endpointslices"}, evidence.PartBudgets: {"poddisruptionbudgets"},
}

// notWatched reports kinds of objects that a promise needs and that were not watched. Without a watch of pods nothing is known of what
// disturbs them.
func (r *recording) notWatched(p invariant.Invariant) (d verdict.Missing) {
	needed := append(p.Needs().All(), evidence.PartPods)
	for _, not := range r.run.Header.Recorded.NotWatched {
		if slices.ContainsFunc(needed, func(part evidence.Part) bool { return slices.Contains(kindsOf[part], not.What) }) {
			d.Add("%s were not watched: %s", not.What, not.Why)
		}
	}
	return d
}

// reason is why an Unknown has no verdict.
func reason(v verdict.Verdict) string {
	if len(v.Evidence) > 0 {
		return v.Evidence[0]
	}
	return v.Seen
}

func ofOutcome(all []judged, o verdict.Outcome) []judged {
	return slices.DeleteFunc(slices.Clone(all), func(one judged) bool { return one.Outcome != o })
}

// broken is the verdict on a promise that was broken in some episodes: that of the first.
func (r *recording) broken(v verdict.Verdict, broken []judged) verdict.Verdict {
	slices.SortStableFunc(broken, func(a, b judged) int { return cmp.Compare(a.At, b.At) })
	first := broken[0]
	v.At, v.Limits = first.At, first.Limits
	v.Measure("brokenEpisodes", float64(len(broken)))
	v.Support(first.Evidence...)
	if len(v.Evidence) == verdict.MaxEvidence && len(broken) > 1 {
		v.Evidence = v.Evidence[:verdict.MaxEvidence-1]
	}
	for _, other := range broken[1:] {
		v.Support("also in " + other.where + ": " + other.Seen)
	}
	text := first.where + ": " + first.Seen
	if n := len(broken) - 1; n > 0 {
		text += fmt.Sprintf("; and in %s", prose.Count(n, "other episode"))
	}
	return v.Violated(r.doubts, "%s", text)
}

// held is the verdict on a promise that was held in some episodes and not tested in the others.
func (r *recording) held(v verdict.Verdict, all, held []judged) verdict.Verdict {
	for _, one := range held {
		v.Support(one.where + ": " + one.Seen)
	}
	v.Limits = held[0].Limits
	if len(all) == 1 {
		v.Evidence = nil
		v.Support(held[0].Evidence...)
		return v.Held(nil, "through %s: %s", r.inWords(), held[0].Seen)
	}
	untested := ""
	if n := len(all) - len(held); n > 0 {
		untested = fmt.Sprintf(", and not tested in %d", n)
	}
	return v.Held(nil, "through %s: held in %s%s; the first was %s: %s",
		r.inWords(), prose.Count(len(held), "episode"), untested, held[0].where, held[0].Seen)
}

// inWords counts the disturbances that were shown, by kind.
func (r *recording) inWords() string {
	counts := make(map[disturbances.Kind]int)
	var kinds []disturbances.Kind
	for _, d := range r.shown {
		if counts[d.Kind]++; counts[d.Kind] == 1 {
			kinds = append(kinds, d.Kind)
		}
	}
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = prose.Count(counts[k], k.Noun())
	}
	return prose.List(words)
}

// nothing is the verdict on a promise that no episode is about.
func (r *recording) nothing(v verdict.Verdict, p invariant.Invariant) verdict.Verdict {
	var missing verdict.Missing
	touched := slices.ContainsFunc(r.All, func(d disturbances.Disturbance) bool { return r.Touches(&d, r.Parts.All...) })
	switch {
	case len(r.shown) > 0 && aboutRequests(p) && r.reached == 0:
		return v.NotTested("nothing that requests reach was disturbed: nothing was shown of them")
	case len(r.shown) > 0 && aboutRequests(p):
		return v.NotTested("nothing disturbed what requests reach in the way that the promise is about")
	case len(r.shown) > 0:
		return v.NotTested("nothing that was disturbed is what the promise is about")
	case touched:
		missing.Add("what was disturbed began before the recording was judged, or ended after it: nothing was shown")
	case len(r.All) > 0:
		missing.Add("no recorded pod was disturbed: nothing was shown")
	default:
		missing.Add("nothing was disturbed: nothing was shown")
	}
	v = v.Unknown(missing)
	for _, d := range r.All {
		v.Support(d.Words)
	}
	return v
}
