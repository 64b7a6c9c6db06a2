package placement

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
)

// finding is what became of one of the rules for a binding.
type finding struct {
	broken evidence.Presence // sure: in every order of what the scheduler may have seen
	words  string            // how it is or would be broken, to follow "backend-1 was bound to w1 at 3s, "
	seen   string            // of a spread, what there was
}

// findings goes through all rules for a binding to a node in the given state, always in the same order.
func (s *scene) findings(here history.Node) []finding {
	r := s.pod.Rules
	untolerated := r.untolerated(here)
	all := []finding{
		{broken: surelyIf(!r.chooses(here)), words: "which its node selector or node affinity excludes"},
		{broken: surelyIf(untolerated != ""), words: "whose taint " + untolerated + " it does not tolerate"},
		{broken: surelyIf(here.Unschedulable && !r.tolerates(cordonTaint)), words: "which was cordoned"},
	}
	for _, c := range r.Spread {
		all = append(all, s.spread(c, here))
	}
	return append(all, s.anti(here), s.othersAnti(here), s.affinity(here))
}

func surelyIf(broken bool) evidence.Presence {
	if broken {
		return evidence.Sure
	}
	return evidence.No
}

// spread weighs a spread constraint. The skew is what the pod's domain had before it, and itself if the constraint is
// about it, over what the emptiest domain had; that is nothing when there are fewer domains than minDomains.
func (s *scene) spread(c spreadRule, here history.Node) finding {
	against := fmt.Sprintf("against maxSkew %d over %s", c.MaxSkew, c.TopologyKey)
	if c.MinDomains > 0 {
		against = fmt.Sprintf("against maxSkew %d and minDomains %d over %s", c.MaxSkew, c.MinDomains, c.TopologyKey)
	}
	domain, has := here.Labels[c.TopologyKey]
	if !has {
		return finding{broken: evidence.Sure, words: against + ": the node has no such label"}
	}
	self := 0
	if s.about(c, s.pod.Labels) {
		self = 1
	}
	domains := s.tally(c)
	least, most := skews(domains, domain, c.MinDomains, self)
	counts := make(map[string]int, len(domains))
	for name, t := range domains {
		counts[name] = t.most
	}
	f := finding{
		words: fmt.Sprintf("%s: with %s before it, it made a skew of %d in %s", against, prose.Amounts(counts), most, domain),
		seen:  fmt.Sprintf("%s before it, skew %d in %s, and %d is allowed", prose.Amounts(counts), most, domain, c.MaxSkew),
	}
	if most > c.MaxSkew {
		f.broken = evidence.Maybe
	}
	if least > c.MaxSkew {
		f.broken = evidence.Sure
	}
	return f
}

// anti weighs the pod's own required anti-affinity: none of the pods that a term chooses may be in the same domain.
func (s *scene) anti(here history.Node) (f finding) {
	for _, t := range s.pod.Rules.Affinity.Anti.Required {
		for _, q := range s.pods {
			clash := min(q.there, q.chosenBy(t.LabelSelector.matches), s.sharesDomain(q, t.TopologyKey, here))
			if clash > f.broken {
				f = finding{broken: clash, words: fmt.Sprintf("against its anti-affinity over %s: %s was on %s", t.TopologyKey, q.Name, q.Node)}
			}
		}
	}
	return f
}

// othersAnti weighs the anti-affinity of those that were there: it keeps others away from them, too.
func (s *scene) othersAnti(here history.Node) (f finding) {
	for _, q := range s.pods {
		if q.Rules == nil {
			continue
		}
		for _, t := range q.Rules.Affinity.Anti.Required {
			if !t.LabelSelector.matches(s.pod.Labels) {
				continue
			}
			if clash := min(q.there, s.sharesDomain(q, t.TopologyKey, here)); clash > f.broken {
				f = finding{broken: clash, words: fmt.Sprintf("against the anti-affinity over %s of %s on %s", t.TopologyKey, q.Name, q.Node)}
			}
		}
	}
	return f
}

// affinity weighs the pod's required affinity: in the domain of each term there must be a pod that all terms choose. If
// there is none anywhere, a pod that they choose may be the first.
func (s *scene) affinity(here history.Node) (f finding) {
	terms := s.pod.Rules.Affinity.Pod.Required
	if len(terms) == 0 {
		return f
	}
	chosen := func(labels map[string]string) bool {
		return !slices.ContainsFunc(terms, func(t podTerm) bool { return !t.LabelSelector.matches(labels) })
	}
	met, anywhere := evidence.Sure, evidence.No
	for _, t := range terms {
		company := evidence.No
		if _, has := here.Labels[t.TopologyKey]; !has {
			return finding{broken: evidence.Sure, words: fmt.Sprintf("against its affinity over %s: the node has no such label", t.TopologyKey)}
		}
		for _, q := range s.pods {
			there := min(q.there, q.chosenBy(chosen))
			company = max(company, min(there, s.sharesDomain(q, t.TopologyKey, here)))
			if q.node != nil {
				_, in := q.node.domains(t.TopologyKey, everyNode)
				there = min(there, in)
			}
			anywhere = max(anywhere, there)
		}
		if company < met {
			met = company
			f.words = fmt.Sprintf("against its affinity over %s: none of the pods that it asks for was in %s", t.TopologyKey, here.Labels[t.TopologyKey])
		}
	}
	if chosen(s.pod.Labels) {
		met = max(met, anywhere.Not())
	}
	f.broken = met.Not()
	return f
}

// legality is what was found of a binding.
type legality struct {
	Broken evidence.Presence // sure: illegal whatever the scheduler saw; no: legal whatever it saw
	Told   bool              // by the order of the record it is illegal
	Words  string            // how it is illegal, if it may be
	Seen   []string          // for each spread constraint, what there was by the order of the record
}

// Judge weighs a binding. It is surely illegal if in every state that the node may have had, some rule is broken in
// every order of the rest. That takes the rules one by one, and so may miss that no order obeys all of them at once.
func (l *PlacementLedger) Judge(p *PlacedPod) (v legality, known bool) {
	wide, told := l.scene(p, evidence.WatchSkew), l.scene(p, 0)
	if wide.on == nil {
		return v, false
	}
	v.Broken = evidence.Sure
	worst := evidence.No
	rule := -1
	for _, here := range wide.on.states {
		broken := evidence.No
		for i, f := range wide.findings(here) {
			broken = max(broken, f.broken)
			if f.broken == evidence.Sure && rule < 0 {
				rule, v.Words = i, f.words
			}
		}
		v.Broken, worst = min(v.Broken, broken), max(worst, broken)
	}
	if v.Broken == evidence.No {
		v.Broken = min(worst, evidence.Maybe)
	}
	v.read(told, wide, rule)
	return v, true
}

// read finds the words: those of the record's order, which is one of the orders that may have been.
func (v *legality) read(told, wide *scene, rule int) {
	here := wide.on.states[0]
	if told.on != nil {
		here = told.on.states[0]
	} else {
		told.on = wide.on
	}
	for i, f := range told.findings(here) {
		if f.seen != "" {
			v.Seen = append(v.Seen, f.seen)
		}
		if f.broken == evidence.No {
			continue
		}
		if !v.Told || i == rule {
			v.Words = f.words
		}
		v.Told = true
	}
}
