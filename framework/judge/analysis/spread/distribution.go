package spread

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// revisionLabel distinguishes pods of different templates.
const revisionLabel = "pod-template-hash"

// Distribution is how a workload's pods were distributed when it had settled.
type Distribution struct {
	At        history.Offset
	replicas  int
	Counts    map[string]int // pods, by domain; 0 for empty domains
	Outside   int            // pods on nodes without a domain
	waiting   int            // pods without a node
	excluded  []string       // nodes that count for no domain, with the reason
	revisions []string
	Why       string      // its cause
	decisive  *SkewChange // made its skew too large; nil: unknown, or not too large
	Blind     bool        // it was seen only while a watch was blind
}

// Skew is the difference between the fullest and the emptiest domain.
func (p *Distribution) Skew() int {
	if len(p.Counts) == 0 {
		return 0
	}
	counts := slices.Collect(maps.Values(p.Counts))
	return slices.Max(counts) - slices.Min(counts)
}

func (p *Distribution) String() string {
	text := fmt.Sprintf("%s (%s", prose.Amounts(p.Counts), prose.Count(p.replicas, "replica"))
	if p.waiting > 0 {
		text += fmt.Sprintf(", %d without a node", p.waiting)
	}
	text += ")"
	if len(p.excluded) > 0 {
		text += " without " + prose.List(p.excluded)
	}
	return text
}

// Same reports whether both have the same pods per domain, under the same conditions.
func (p *Distribution) Same(other *Distribution) bool {
	return p.replicas == other.replicas && p.Outside == other.Outside && p.waiting == other.waiting && maps.Equal(p.Counts, other.Counts) &&
		slices.Equal(p.excluded, other.excluded) && slices.Equal(p.revisions, other.revisions)
}

// Distributions are the distributions of a workload during a run.
type Distributions struct {
	Distributions []*Distribution
	wanted        map[int]bool // requested numbers of replicas
	AtEnd         bool         // the workload was settled at the end
}

// FollowDistribution returns every settled state that differs from the one before. With waiting, it includes states in which pods have
// no node.
func FollowDistribution(f *evidence.Run, key history.Key, topology string, waiting bool) (l Distributions) {
	l.wanted = make(map[int]bool)
	from, to := f.Begin(), f.End()
	settling := evidence.Settler{Key: key, Waiting: waiting}
	usable := make(map[string]bool)
	taken := make(map[string]string) // nodes that were unschedulable at some time since the last settled state, and why
	placer := NewPlacer(topology)
	evidence.Moments(f.Record, func(at history.Offset, s *history.State) {
		w := s.Workloads[key]
		noteTaken(s, w, topology, placer.look(s, w), usable, taken)
		if at < from || at >= to {
			return
		}
		if w.Observed {
			l.wanted[w.Replicas] = true
		}
		w, pods, ok := settling.See(at, s)
		if l.AtEnd = settling.Both; !ok {
			return
		}
		placed := placer.Place(s, w, evidence.Bound(pods))
		placed.At, placed.waiting, placed.Blind = at, len(pods)-len(evidence.Bound(pods)), f.Blind(at)
		if last := l.Last(); last != nil && last.Same(placed) {
			last.Blind = last.Blind && placed.Blind
		} else {
			placed.explain(last, taken)
			l.Distributions = append(l.Distributions, placed)
		}
		// A node that is still unschedulable may explain later states as well.
		maps.DeleteFunc(taken, func(name, _ string) bool { return usable[name] })
	})
	return l
}

// Last returns the newest distribution; nil: there is none.
func (l *Distributions) Last() *Distribution {
	if n := len(l.Distributions); n > 0 {
		return l.Distributions[n-1]
	}
	return nil
}

// noteTaken notes which of the nodes that have changed became unschedulable.
func noteTaken(s *history.State, w history.Workload, topology string, changed []string, usable map[string]bool, taken map[string]string) {
	for _, name := range changed {
		n, there := s.Nodes[name]
		if !there {
			if _, was := usable[name]; was {
				delete(usable, name)
				taken[name] = "deleted"
			}
			continue
		}
		if _, may := domainOf(n, w.NodeSelector, topology); !may {
			continue
		}
		why := closed(n)
		if usable[name] && why != "" {
			taken[name] = why
		}
		usable[name] = why == ""
	}
}

// A simulated node has a label, and a taint with the same words. Every workload that selects the label tolerates the taint.
const (
	roleLabel      = "holdfast.dev/role"
	simulated      = "simulated"
	simulatedTaint = roleLabel + "=" + simulated + ":NoSchedule"
)

// domainOf is the domain of a node where pods of a workload may be. Those of a workload that does not select simulated nodes are on none.
func domainOf(n history.Node, selector map[string]string, topology string) (domain string, may bool) {
	domain, may = n.Labels[topology]
	may = may && history.Selects(selector, n.Labels) && (n.Labels[roleLabel] != simulated || selector[roleLabel] == simulated)
	return domain, may
}

// closed is why a node takes no new pods; empty: it takes them.
func closed(n history.Node) string {
	switch {
	case n.Ready != "True":
		return "lost"
	case n.Unschedulable:
		return "cordoned"
	}
	for _, taint := range n.Taints {
		if taint == simulatedTaint {
			continue
		}
		if strings.HasSuffix(taint, ":NoSchedule") || strings.HasSuffix(taint, ":NoExecute") {
			return "tainted"
		}
	}
	return ""
}

// explain derives a distribution's cause from what changed since the settled state before.
func (p *Distribution) explain(before *Distribution, taken map[string]string) {
	switch {
	case before == nil:
		p.Why = chosenByScheduler
	case len(taken) > 0:
		var nodes []string
		for _, name := range slices.Sorted(maps.Keys(taken)) {
			nodes = append(nodes, name+", which was "+taken[name])
		}
		p.Why = "forced by " + prose.List(nodes)
	case p.replicas < before.replicas:
		p.Why = fmt.Sprintf("decayed by the scale-down from %d replicas", before.replicas)
	case !slices.Equal(p.revisions, before.revisions):
		p.Why = "decayed by a rollout"
	case maps.Equal(p.Counts, before.Counts):
		p.Why = before.Why
	default:
		p.Why = chosenByScheduler
	}
}

// chosenByScheduler is the cause of a distribution if nothing else is known to have changed.
const chosenByScheduler = "chosen by the scheduler"

// Blame finds in the ledger the changes that made distributions more uneven than allowed.
func (l *Distributions) Blame(ledger *SkewLedger, allowed int) {
	for _, p := range l.Distributions {
		if p.Skew() <= allowed {
			continue
		}
		p.decisive = ledger.decisive(p.At, allowed)
		if p.Why == chosenByScheduler && p.decisive != nil && p.decisive.cause != ByScheduler {
			p.Why = "brought about when " + p.decisive.words
		}
	}
}

// Evidence is a line about a distribution, and one about the decisive change unless the first line has it.
func (p *Distribution) Evidence(line string, told **SkewChange) []string {
	if p.decisive == nil || p.decisive == *told {
		return []string{line}
	}
	*told = p.decisive
	return []string{line, p.decisive.String()}
}

// Doubts returns reasons why the settled states prove nothing.
func (l Distributions) Doubts(name string) (d verdict.Missing) {
	if len(l.Distributions) == 0 {
		d.Add("%s was never seen settled", name)
		return d
	}
	seen := make(map[int]bool)
	for _, p := range l.Distributions {
		seen[p.replicas] = true
	}
	for _, p := range l.Distributions {
		if len(p.Counts) < 2 && p.replicas > 0 {
			d.Add("%s had %s at %s, and fewer than 2 prove nothing", name, prose.Count(len(p.Counts), "domain"), prose.Moment(p.At))
			break
		}
		if p.Outside > 0 {
			d.Add("%s had %s in no domain at %s", name, prose.Count(p.Outside, "pod"), prose.Moment(p.At))
			break
		}
	}
	if len(seen) == 1 && seen[0] {
		d.Add("%s had no replicas whenever it was settled", name)
	}
	for _, n := range slices.Sorted(maps.Keys(l.wanted)) {
		if !seen[n] {
			d.Add("%s was asked for %s and never seen settled with that", name, prose.Count(n, "replica"))
		}
	}
	if !l.AtEnd {
		d.Add("%s was not settled at the end", name)
	}
	return d
}

// Replicas lists the numbers of replicas in the order of the settled states: "1, 2 and 3 replicas".
func (l Distributions) Replicas() string {
	var numbers []string
	for _, p := range l.Distributions {
		if n := strconv.Itoa(p.replicas); len(numbers) == 0 || numbers[len(numbers)-1] != n {
			numbers = append(numbers, n)
		}
	}
	return prose.List(numbers) + " replicas"
}

// Domains returns the smallest and the largest number of domains in a settled state.
func (l Distributions) Domains() (fewest, most int) {
	for i, p := range l.Distributions {
		if n := len(p.Counts); i == 0 {
			fewest, most = n, n
		} else {
			fewest, most = min(fewest, n), max(most, n)
		}
	}
	return fewest, most
}

// OverDomains describes how many domains the states had: "3 domains", or "2 to 3 domains" if one was lost for a while.
func (l Distributions) OverDomains() string {
	fewest, most := l.Domains()
	if fewest == most {
		return prose.Count(most, "domain")
	}
	return fmt.Sprintf("%d to %s", fewest, prose.Count(most, "domain"))
}
