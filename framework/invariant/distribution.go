package invariant

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// revisionLabel tells pods of one template from those of another.
const revisionLabel = "pod-template-hash"

// distribution is where a workload's pods were when it had settled.
type distribution struct {
	at        history.Offset
	replicas  int
	counts    map[string]int // pods, by domain; empty domains are there with 0
	outside   int            // pods on nodes that are in no domain
	waiting   int            // pods on no node
	excluded  []string       // nodes that made no domain, with the reason
	revisions []string
	why       string      // what brought it about
	decisive  *skewChange // that made its skew more than is allowed; nil: none is known, or it is not
	blind     bool        // it was seen only while a watch was blind
}

// skew is the difference between the fullest and the emptiest domain.
func (p *distribution) skew() int {
	if len(p.counts) == 0 {
		return 0
	}
	counts := slices.Collect(maps.Values(p.counts))
	return slices.Max(counts) - slices.Min(counts)
}

func (p *distribution) String() string {
	text := fmt.Sprintf("%s (%s", amounts(p.counts), count(p.replicas, "replica"))
	if p.waiting > 0 {
		text += fmt.Sprintf(", %d without a node", p.waiting)
	}
	text += ")"
	if len(p.excluded) > 0 {
		text += " without " + list(p.excluded)
	}
	return text
}

func (p *distribution) same(other *distribution) bool {
	return p.replicas == other.replicas && p.outside == other.outside && p.waiting == other.waiting && maps.Equal(p.counts, other.counts) &&
		slices.Equal(p.excluded, other.excluded) && slices.Equal(p.revisions, other.revisions)
}

// distributions are those of a workload in the course of a run.
type distributions struct {
	distributions []*distribution
	wanted        map[int]bool // numbers of replicas that were asked for
	atEnd         bool         // it was settled at the end
}

// followDistribution notes every settled state that differs from the one before; with waiting, also those in which pods
// find no node.
func followDistribution(f *facts, key history.Key, topology string, waiting bool) (l distributions) {
	l.wanted = make(map[int]bool)
	from, to := f.begin(), f.end()
	settling := settler{key: key, waiting: waiting}
	usable := make(map[string]bool)
	taken := make(map[string]string) // nodes that were closed at some time since the last settled state, and how
	moments(f.run, func(at history.Offset, s *history.State) {
		w := s.Workloads[key]
		noteTaken(s, w, topology, usable, taken)
		if at < from || at >= to {
			return
		}
		if w.Observed {
			l.wanted[w.Replicas] = true
		}
		w, pods, ok := settling.see(at, s)
		if l.atEnd = settling.both; !ok {
			return
		}
		placed := place(s, w, bound(pods), topology)
		placed.at, placed.waiting, placed.blind = at, len(pods)-len(bound(pods)), f.blind(at)
		if last := l.last(); last != nil && last.same(placed) {
			last.blind = last.blind && placed.blind
		} else {
			placed.explain(last, taken)
			l.distributions = append(l.distributions, placed)
		}
		// A node that is still closed goes on to explain what comes.
		maps.DeleteFunc(taken, func(name, _ string) bool { return usable[name] })
	})
	return l
}

func (l *distributions) last() *distribution {
	if n := len(l.distributions); n > 0 {
		return l.distributions[n-1]
	}
	return nil
}

// noteTaken keeps track of the nodes that stop taking pods.
func noteTaken(s *history.State, w history.Workload, topology string, usable map[string]bool, taken map[string]string) {
	for name := range usable {
		if _, there := s.Nodes[name]; !there {
			delete(usable, name)
			taken[name] = "deleted"
		}
	}
	for name, n := range s.Nodes {
		if _, has := n.Labels[topology]; !has || !history.Selects(w.NodeSelector, n.Labels) {
			continue
		}
		why := closed(n)
		if usable[name] && why != "" {
			taken[name] = why
		}
		usable[name] = why == ""
	}
}

// closed says why a node takes no new pods; empty when it does.
func closed(n history.Node) string {
	switch {
	case n.Ready != "True":
		return "lost"
	case n.Unschedulable:
		return "cordoned"
	}
	for _, taint := range n.Taints {
		if strings.HasSuffix(taint, ":NoSchedule") || strings.HasSuffix(taint, ":NoExecute") {
			return "tainted"
		}
	}
	return ""
}

// place counts a workload's pods by domain.
func place(s *history.State, w history.Workload, pods []history.Pod, topology string) *distribution {
	p := &distribution{replicas: w.Replicas, counts: make(map[string]int), outside: len(pods)}
	revisions := make(map[string]bool)
	on := make(map[string]int)
	for _, pod := range pods {
		on[pod.Node]++
		revisions[pod.Labels[revisionLabel]] = true
	}
	p.revisions = slices.Sorted(maps.Keys(revisions))
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		n := s.Nodes[name]
		domain, has := n.Labels[topology]
		if !has || !history.Selects(w.NodeSelector, n.Labels) {
			continue
		}
		if why := closed(n); why != "" && on[name] == 0 {
			if why != "tainted" { // such as the control plane, which is always so
				p.excluded = append(p.excluded, name+" ("+why+")")
			}
			continue
		}
		p.counts[domain] += on[name]
		p.outside -= on[name]
	}
	return p
}

// explain says what brought a distribution about, going by what changed since the settled state before.
func (p *distribution) explain(before *distribution, taken map[string]string) {
	switch {
	case before == nil:
		p.why = chosenByScheduler
	case len(taken) > 0:
		var nodes []string
		for _, name := range slices.Sorted(maps.Keys(taken)) {
			nodes = append(nodes, name+", which was "+taken[name])
		}
		p.why = "forced by " + list(nodes)
	case p.replicas < before.replicas:
		p.why = fmt.Sprintf("decayed by the scale-down from %d replicas", before.replicas)
	case !slices.Equal(p.revisions, before.revisions):
		p.why = "decayed by a rollout"
	case maps.Equal(p.counts, before.counts):
		p.why = before.why
	default:
		p.why = chosenByScheduler
	}
}

// chosenByScheduler is why a distribution came about when nothing else is known to have changed since the one before.
const chosenByScheduler = "chosen by the scheduler"

// blame finds in the ledger what made distributions more uneven than is allowed.
func (l *distributions) blame(ledger *skewLedger, allowed int) {
	for _, p := range l.distributions {
		if p.skew() <= allowed {
			continue
		}
		p.decisive = ledger.decisive(p.at, allowed)
		if p.why == chosenByScheduler && p.decisive != nil && p.decisive.cause != byScheduler {
			p.why = "brought about when " + p.decisive.words
		}
	}
}

// evidence is a line on a distribution, and one on what was decisive unless the line before has told it.
func (p *distribution) evidence(line string, told **skewChange) []string {
	if p.decisive == nil || p.decisive == *told {
		return []string{line}
	}
	*told = p.decisive
	return []string{line, p.decisive.String()}
}

// doubts are reasons why the settled states prove nothing.
func (l distributions) doubts(name string) (d doubts) {
	if len(l.distributions) == 0 {
		d.add("%s was never seen settled", name)
		return d
	}
	seen := make(map[int]bool)
	for _, p := range l.distributions {
		seen[p.replicas] = true
	}
	for _, p := range l.distributions {
		if len(p.counts) < 2 && p.replicas > 0 {
			d.add("%s had %s at %s, and fewer than 2 prove nothing", name, count(len(p.counts), "domain"), moment(p.at))
			break
		}
		if p.outside > 0 {
			d.add("%s had %s in no domain at %s", name, count(p.outside, "pod"), moment(p.at))
			break
		}
	}
	if len(seen) == 1 && seen[0] {
		d.add("%s had no replicas whenever it was settled", name)
	}
	for _, n := range slices.Sorted(maps.Keys(l.wanted)) {
		if !seen[n] {
			d.add("%s was asked for %s and never seen settled with that", name, count(n, "replica"))
		}
	}
	if !l.atEnd {
		d.add("%s was not settled at the end", name)
	}
	return d
}

// replicas names the numbers of replicas in the order in which they settled: "1, 2 and 3 replicas".
func (l distributions) replicas() string {
	var numbers []string
	for _, p := range l.distributions {
		if n := strconv.Itoa(p.replicas); len(numbers) == 0 || numbers[len(numbers)-1] != n {
			numbers = append(numbers, n)
		}
	}
	return list(numbers) + " replicas"
}

// domains are the fewest and the most that one of the states had.
func (l distributions) domains() (fewest, most int) {
	for i, p := range l.distributions {
		if n := len(p.counts); i == 0 {
			fewest, most = n, n
		} else {
			fewest, most = min(fewest, n), max(most, n)
		}
	}
	return fewest, most
}

// overDomains says how many domains the states had: "3 domains", or "2 to 3 domains" where one was lost for a while.
func (l distributions) overDomains() string {
	fewest, most := l.domains()
	if fewest == most {
		return count(most, "domain")
	}
	return fmt.Sprintf("%d to %s", fewest, count(most, "domain"))
}
