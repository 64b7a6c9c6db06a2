package attribution

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Attributed has the causes of failed requests.
type Attributed struct {
	total    uint64
	ofSystem uint64
	causes   map[Cause]*causeCount
}

// causeCount is how many failures had a cause, how well that is known, and to which pods and nodes they were sent.
type causeCount struct {
	cause       Cause
	n, kept     uint64 // kept: on connections that were open before
	first, last history.Offset
	known       map[Confidence]uint64
	phases      map[PodPhase]uint64
	pods        map[string]uint64 // by name; empty: unknown
	nodes       map[string]uint64 // like pods
	story       string            // of the first failure
}

// Attributed finds the causes. Call it when all requests were read, because later answers are evidence for earlier failures.
func (s *FailureGroups) Attributed() *Attributed {
	if s.found != nil {
		return s.found
	}
	s.found = &Attributed{causes: make(map[Cause]*causeCount)}
	s.Each(func(kind FailureGroup, at history.Offset, like SimilarFailures, a Attribution) {
		s.found.add(at, like.N, a)
		if kind.kept {
			s.found.causes[a.Cause].kept += like.N
		}
	})
	return s.found
}

// Each visits all groups of failures, in the order of their first requests.
func (s *FailureGroups) Each(visit func(kind FailureGroup, at history.Offset, like SimilarFailures, a Attribution)) {
	s.Timelines.settle()
	kinds := slices.SortedFunc(maps.Keys(s.kinds), func(a, b FailureGroup) int {
		x, y := s.kinds[a].First, s.kinds[b].First
		return cmp.Or(cmp.Compare(x.Sent, y.Sent), cmp.Compare(x.Done, y.Done), cmp.Compare(x.Worker, y.Worker),
			cmp.Compare(x.Lane, y.Lane), cmp.Compare(x.Seq, y.Seq))
	})
	for i, kind := range kinds {
		at := s.at(kind)
		a := s.Timelines.attribute(kind, at)
		if (a.Cause == CauseUnknown || a.Cause == CauseLateWithdrawal) && s.alone(kinds, i) && s.Timelines.rulesChanged(kind, at) {
			a = Attribution{Cause: CauseProxyUpdate, Confidence: ConfidenceRest}
		}
		visit(kind, at, s.kinds[kind], s.Timelines.unendedAt(kind, at, a))
	}
}

func (f *Attributed) add(at history.Offset, n uint64, a Attribution) {
	f.total += n
	if a.OfSystem() {
		f.ofSystem += n
	}
	c := f.causes[a.Cause]
	if c == nil {
		c = &causeCount{
			cause: a.Cause, first: at, known: make(map[Confidence]uint64), phases: make(map[PodPhase]uint64),
			pods: make(map[string]uint64), nodes: make(map[string]uint64), story: a.Story,
		}
		f.causes[a.Cause] = c
	}
	c.n += n
	c.first, c.last = min(c.first, at), max(c.last, at)
	c.known[a.Confidence] += n
	c.phases[a.Phase] += n
	c.pods[a.Pod] += n
	c.nodes[a.Node] += n
}

// unattributed is the number of failures that are not known to be caused by the system under test.
func (f *Attributed) unattributed() uint64 { return f.total - f.ofSystem }

// sorted are the causes, the most frequent one first.
func (f *Attributed) sorted() []*causeCount {
	return slices.SortedFunc(maps.Values(f.causes), func(a, b *causeCount) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.cause.rank(), b.cause.rank()))
	})
}

// CauseNumber is the prefix of the names of a verdict's numbers that count causes. See ReportedCause.
const CauseNumber = "cause."

// KeptNumber is the prefix of the names of those that count the failures of a cause on connections that were open before.
const KeptNumber = "causeOnKept."

// Numbers measures "cause.<name>", "causeOnKept.<name>" where there are any, and "unattributed".
func (f *Attributed) Numbers(v *verdict.Verdict) {
	if f.total == 0 {
		return
	}
	for cause, c := range f.causes {
		v.Measure(CauseNumber+string(cause), float64(c.n))
		if c.kept > 0 {
			v.Measure(KeptNumber+string(cause), float64(c.kept))
		}
	}
	v.Measure("unattributed", float64(f.unattributed()))
}

// Evidence has a line for each of the three most frequent causes, and one for the others.
func (f *Attributed) Evidence(s *Timelines) (lines []string) {
	const most = 3
	list := f.sorted()
	var rest []string
	for i, c := range list {
		if i >= most && len(list) > most+1 {
			rest = append(rest, fmt.Sprintf("%d %s", c.n, c.cause))
			continue
		}
		lines = append(lines, fmt.Sprintf("%d of %d: %s (%s)%s", c.n, f.total, c.cause.Words(), c.cause, c.details(s)))
	}
	if len(rest) > 0 {
		lines = append(lines, "of other causes: "+strings.Join(rest, ", "))
	}
	return lines
}

// details are the pod or node, its phase, and how well they are known.
func (c *causeCount) details(s *Timelines) string {
	var parts []string
	if c.story != "" {
		parts = append(parts, c.story)
	} else if pod := largest(c.pods); pod != "" {
		parts = append(parts, s.story(pod, c.first))
	} else if node := largest(c.nodes); node != "" {
		parts = append(parts, node)
	}
	if in := c.phased(); in != "" {
		parts = append(parts, in)
	}
	if known := weighed(c.known, c.n); known != "" {
		parts = append(parts, known)
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, "; ")
}

// phased counts the phases in which the pods were, unless the cause already says so.
func (c *causeCount) phased() string {
	var parts []string
	for _, p := range []PodPhase{PhaseEvicted, PhaseDeleting, PhaseRemoved, PhaseSIGTERM, PhaseGone} {
		if n := c.phases[p]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", p, n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "in phase " + strings.Join(parts, ", ")
}

// largest is the name with the highest count; empty if there are no names.
func largest(counts map[string]uint64) (best string) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if name != "" && (best == "" || counts[name] > counts[best]) {
			best = name
		}
	}
	return best
}

// weighed is how well the causes are known: "the only endpoint in trouble", or several with numbers.
func weighed(known map[Confidence]uint64, all uint64) string {
	var parts []string
	for _, c := range []Confidence{
		ConfidenceSeen, ConfidenceConnection, ConfidenceAll, ConfidenceOnly, ConfidenceOneOf, ConfidenceNone,
	} {
		switch n := known[c]; {
		case n == 0 || c == ConfidenceNone:
		case n == all:
			return string(c)
		default:
			parts = append(parts, fmt.Sprintf("%s %d", c, n))
		}
	}
	return strings.Join(parts, ", ")
}

// story is what happened to a pod: "backend-1 on w1, deletion requested at 9.5s, its endpoint removed 5ms later, ended at 12s, no
// preStop sleep".
func (s *Timelines) story(pod string, at history.Offset) string {
	l := s.Named(pod, at)
	if l == nil {
		return pod
	}
	text := l.Name
	if l.Node != "" {
		text += " on " + l.Node
	}
	if l.Evicted.OK {
		text += ", evicted by its kubelet at " + prose.Moment(l.Evicted.At)
	}
	if l.Requested.OK {
		text += ", deletion requested at " + prose.Moment(l.Requested.At)
	}
	if w := l.Withdrawn(evidence.Never); w.OK && l.EndBegan() != evidence.Never {
		text += ", endpoint removed at " + prose.Moment(w.At)
	}
	if end := l.Ended; end.OK {
		text += ", ended at " + prose.Moment(end.At)
	}
	switch {
	case l.Lifecycle == nil || l.EndBegan() == evidence.Never:
	case l.front != nil:
		text += l.containers()
	case l.Lifecycle.PreStop == 0:
		text += ", no preStop sleep"
	default:
		text += fmt.Sprintf(", preStop sleep %s", l.Lifecycle.PreStop)
	}
	if l.Killed {
		text += fmt.Sprintf(", killed after its grace period of %s", l.Lifecycle.Grace)
	}
	if s.facts.EventsMissing(at) {
		text += "; what Kubernetes said of it may be lost, as the watch of events was blind"
	}
	return text
}

// CauseCount is how many failed requests had a cause.
type CauseCount struct {
	Cause  Cause
	Failed uint64
	// Known is how the cause is known: "seen 3, the only endpoint in trouble 8". Empty: it is not known.
	Known string
}

// FailureCauses finds the causes of failed requests, for callers that read the requests of a record themselves. Memory does not
// grow with the number of requests.
type FailureCauses struct{ groups *FailureGroups }

// NewFailureCauses reads a record's events.
func NewFailureCauses(run history.Run) *FailureCauses {
	return &FailureCauses{NewFailureGroups(TimelinesOf(evidence.New(run)))}
}

// Take takes in a request, failed or not: answers show which pods listened. Requests of the control lane do not reach the system
// under test and are ignored.
func (c *FailureCauses) Take(r *history.Request) {
	if r.Lane == history.LaneControl || r.Outcome == history.Unsent {
		return
	}
	c.groups.Timelines.answered(r)
	if r.Outcome.Failed() {
		c.groups.Add(SimilarFailures{N: 1, First: *r, Last: *r})
	}
}

// Counts are the causes of all failures, the most frequent one first.
func (c *FailureCauses) Counts() (list []CauseCount) {
	for _, cause := range c.groups.Attributed().sorted() {
		list = append(list, CauseCount{cause.cause, cause.n, weighed(cause.known, cause.n)})
	}
	return list
}
