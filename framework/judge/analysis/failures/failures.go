package failures

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// maxGroups bounds the number of failure groups. Further groups are counted together.
const maxGroups = 4096

// Failures groups the failed requests of one or more lanes by what they have in common. Its memory does not grow with the requests.
type Failures struct {
	facts  *evidence.Run
	stages []stage // in the order of time

	Total  uint64
	first  history.Request // the first by Sent; its texts are copies
	last   history.Offset  // Sent of the last one
	groups map[FailureKind]uint64
	after  []failuresAfter            // by stage; the first entry counts those before all stages
	Groups *attribution.FailureGroups // grouped by what decides their cause

	// Seconds in which failed requests were on their way: those of the control lane, which sent some in noisy, and those of others that were not answered,
	// or too late, by lane.
	control map[history.Offset]uint64
	noisy   map[history.Offset]bool
	failing map[history.Offset]map[history.Lane]uint64
	noise   uint64 // failures of the control lane
}

// stage is a moment in the life of a fault.
type stage struct {
	at    history.Offset
	words string
}

type failuresAfter struct {
	n     uint64
	first history.Offset
}

// FailureKind is what the failures of a group have in common.
type FailureKind struct {
	lane      history.Lane
	outcome   history.Outcome
	pod, node string
	inferred  bool
}

// KindOf returns what a failed request has in common with others.
func KindOf(r *history.Request) FailureKind {
	return FailureKind{r.Lane, r.Outcome, r.Pod, r.Node, r.Inferred}
}

// maxSeconds bounds the seconds that are kept to compare failures with noise.
const maxSeconds = 4096

// NewFailures returns a count without failures.
func NewFailures(f *evidence.Run) *Failures {
	l := &Failures{
		facts:   f,
		groups:  make(map[FailureKind]uint64),
		control: make(map[history.Offset]uint64), noisy: make(map[history.Offset]bool), failing: make(map[history.Offset]map[history.Lane]uint64), Groups: attribution.NewFailureGroups(attribution.TimelinesOf(f)),
	}
	for _, fault := range f.Faults {
		l.stages = append(l.stages, stagesOf(fault, f.Record.Header.Recorded != nil)...)
	}
	slices.SortStableFunc(l.stages, func(a, b stage) int { return cmp.Compare(a.at, b.at) })
	l.after = make([]failuresAfter, len(l.stages)+1)
	return l
}

// stagesOf are the stages of a fault that were reached. What disturbed a recording was not reverted, but was over.
func stagesOf(fault timeline.FaultLife, recorded bool) (list []stage) {
	add := func(m history.Moment, words string) {
		if m.OK {
			list = append(list, stage{m.At, fault.Name + " " + words})
		}
	}
	add(fault.Injecting, "began")
	add(fault.Seen, "was seen to take effect")
	if recorded {
		add(fault.Healed, "was over")
		return list
	}
	add(fault.Healing, "began to be reverted")
	add(fault.Healed, "was healed")
	return list
}

// Add counts a failed request.
func (l *Failures) Add(r *history.Request) {
	l.AddSimilar(attribution.SimilarFailures{N: 1, First: *r, Last: *r})
}

// AddSimilar counts failed requests that differ only in their numbers.
func (l *Failures) AddSimilar(a attribution.SimilarFailures) {
	r := &a.First
	if l.Total == 0 || r.Sent < l.first.Sent {
		l.first = *r
	}
	l.Total += a.N
	l.last = max(l.last, a.Last.Sent)
	key := KindOf(r)
	if _, known := l.groups[key]; !known && len(l.groups) >= maxGroups {
		key = FailureKind{lane: r.Lane, outcome: r.Outcome}
	}
	l.groups[key] += a.N
	l.place(r.Sent, a.N)
	l.Groups.Add(a)
	for second := r.Sent / evidence.LoadWindow; second <= lastSecond(r); second++ {
		if l.failing[second] == nil && len(l.failing) < maxSeconds {
			l.failing[second] = make(map[history.Lane]uint64)
		}
		if of := l.failing[second]; of != nil && (evidence.Unanswered(r.Outcome) || evidence.Slow(r.Outcome)) {
			of[r.Lane] += a.N
		}
	}
}

// lastSecond is the last one in which a request was on its way, as far as Excuse looks.
func lastSecond(r *history.Request) history.Offset {
	first := r.Sent / evidence.LoadWindow
	return max(first, min(r.Done/evidence.LoadWindow, first+math.MaxUint8))
}

// None is the same Failures before the first failure, with what is known of the control lane.
func (l *Failures) None() *Failures {
	none := NewFailures(l.facts)
	none.control, none.noisy, none.noise = l.control, l.noisy, l.noise
	return none
}

// place counts failures after the last stage before them.
func (l *Failures) place(sent history.Offset, n uint64) {
	i := len(l.stages)
	for i > 0 && l.stages[i-1].at > sent {
		i--
	}
	if a := &l.after[i]; a.n == 0 || sent < a.first {
		a.first = sent
	}
	l.after[i].n += n
}

// AddNoise counts a failed request of the control lane.
func (l *Failures) AddNoise(r *history.Request) {
	l.noise++
	for second := r.Sent / evidence.LoadWindow; second <= lastSecond(r); second++ {
		if len(l.control) < maxSeconds {
			l.control[second]++
			l.noisy[r.Sent/evidence.LoadWindow] = true
		}
	}
}

// Of is the number of failed requests of a lane.
func (l *Failures) Of(lane history.Lane) (n uint64) {
	for key, failed := range l.groups {
		if key.lane == lane {
			n += failed
		}
	}
	return n
}

// Attributed are the causes of the failures. Call it after all requests were read.
func (l *Failures) Attributed() *attribution.Attributed { return l.Groups.Attributed() }

// Evidence describes the groups in lines: the first failure, the causes, the control lane, each lane, the time, and the servers.
func (l *Failures) Evidence(t *requests.Stats, lanes []history.Lane) (lines []string) {
	lines = append(lines, describe(&l.first))
	lines = append(lines, l.Attributed().Evidence(l.Groups.Timelines)...)
	lines = append(lines, l.noiseLine()...)
	for _, lane := range lanes {
		if n := l.Of(lane); n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d of %d failed: %s", lane, n, t.Requests(lane),
				outcomes(l.groups, func(k FailureKind) bool { return k.lane == lane })))
		}
	}
	lines = append(lines, l.moments()...)
	return append(lines, l.servers()...)
}

// servers has a line for each of the three servers with the most failures, and a line for the rest.
func (l *Failures) servers() (lines []string) {
	const most = 3
	counts := make(map[string]uint64)
	for key, n := range l.groups {
		counts[key.Server()] += n
	}
	names := slices.Collect(maps.Keys(counts))
	if len(names) == 1 && names[0] == unknownServer {
		return nil // the lines of the lanes say the same
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var rest uint64
	for i, name := range names {
		if i >= most && len(names) > most+1 {
			rest += counts[name]
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %s", name,
			outcomes(l.groups, func(k FailureKind) bool { return k.Server() == name })))
	}
	if rest > 0 {
		lines = append(lines, fmt.Sprintf("%d other servers: %d", len(names)-most, rest))
	}
	return lines
}

const unknownServer = "unknown server"

// Server names the pod that answered, or that was expected to.
func (k FailureKind) Server() string {
	var name string
	switch {
	case k.pod != "" && k.node != "":
		name = k.pod + " on " + k.node
	case k.pod != "":
		name = k.pod
	case k.node != "":
		name = "a pod on " + k.node
	default:
		return "unknown server"
	}
	if k.inferred {
		name += " (inferred)"
	}
	if k.outcome == history.Masked && !k.inferred {
		name = "by " + name // the pod that answered instead, not the one that failed
	}
	return name
}

// moments describes when failures happened, relative to the stages of the faults.
func (l *Failures) moments() (lines []string) {
	for i, a := range l.after {
		switch {
		case a.n == 0:
		case i == 0:
			lines = append(lines, fmt.Sprintf("%d before any fault, the first at %s", a.n, prose.Moment(a.first)))
		default:
			s := l.stages[i-1]
			lines = append(lines, fmt.Sprintf("%d after %s at %s, the first %s later",
				a.n, s.words, prose.Moment(s.at), prose.Moment(a.first-s.at)))
		}
	}
	return lines
}

// noiseLine describes what the control lane, which leads to no system under test, saw at the same time.
func (l *Failures) noiseLine() []string {
	if l.noise == 0 {
		return nil
	}
	both := 0
	for second := range l.failing {
		if l.noisy[second] {
			both++
		}
	}
	return []string{fmt.Sprintf("the control lane failed %d times too, in %d of the %d seconds with failures: the harness itself had problems",
		l.noise, both, len(l.failing))}
}

// outcomes formats "388 refused, 12 reset", the most frequent first.
func outcomes(groups map[FailureKind]uint64, of func(FailureKind) bool) string {
	counts := make(map[history.Outcome]uint64)
	for key, n := range groups {
		if of(key) {
			counts[key.outcome] += n
		}
	}
	kinds := slices.Collect(maps.Keys(counts))
	slices.SortFunc(kinds, func(a, b history.Outcome) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	parts := make([]string, len(kinds))
	for i, kind := range kinds {
		parts[i] = fmt.Sprintf("%d %s", counts[kind], kind)
	}
	return strings.Join(parts, ", ")
}

// describe formats one failed request.
func describe(r *history.Request) string {
	line := fmt.Sprintf("%s %s #%d of %s: %s", prose.Moment(r.Sent), r.Lane, r.Seq, r.Worker, r.Outcome)
	if r.Status != 0 && r.Status != 200 {
		line += fmt.Sprintf(" %d", r.Status)
	}
	line += fmt.Sprintf(" after %s, %s", prose.Moment(r.Done-r.Sent), KindOf(r).Server())
	if r.Err != "" && r.Err != string(r.Outcome) {
		line += ": " + r.Err
	}
	return line
}

// Breaks describes the first of some failures that break a promise.
func (l *Failures) Breaks(v *verdict.Verdict, t *requests.Stats, lanes []history.Lane) (first *history.Request) {
	return l.BreaksOn(v, t, lanes, lanes)
}

// BreaksOn is Breaks for a promise that is broken on some of the lanes.
func (l *Failures) BreaksOn(v *verdict.Verdict, t *requests.Stats, lanes, broken []history.Lane) (first *history.Request) {
	first = &l.first
	v.At = first.Sent
	l.Attributed().Numbers(v)
	l.SinceFault(v, broken)
	v.Support(l.Evidence(t, lanes)...)
	return first
}

// Unended is the beginning of a sentence about an outage on some lanes that had not ended: it matters more than how many requests failed. Empty:
// there was none.
func (l *Failures) Unended(lanes []history.Lane) string {
	if text := l.Groups.Timelines.Unended(lanes); text != "" {
		return text + "; "
	}
	return ""
}

// Violate is the verdict that none of these requests may have failed.
func (l *Failures) Violate(v verdict.Verdict, t *requests.Stats, lanes []history.Lane, d verdict.Missing) verdict.Verdict {
	var all uint64
	var parts []string
	for _, lane := range lanes {
		all += t.Requests(lane)
		parts = append(parts, fmt.Sprintf("%d on %s", l.Of(lane), lane))
	}
	v.Measure("firstFailureSeconds", l.first.Sent.Seconds())
	v.Measure("lastFailureSeconds", l.last.Seconds())
	l.Breaks(&v, t, lanes)
	return v.Violated(d, "%s%d of %s failed (%s), the first at %s: %s, %s", l.Unended(lanes), l.Total, prose.Count(all, "request"),
		strings.Join(parts, ", "), prose.Moment(l.first.Sent), l.first.Outcome, KindOf(&l.first).Server())
}
