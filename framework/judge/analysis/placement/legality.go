package placement

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// finding is the result of one rule for a binding.
type finding struct {
	broken evidence.Presence // sure: in every order of what the scheduler may have seen
	words  string            // how the rule is or would be broken, to follow "backend-1 was bound to w1 at 3s, "
	seen   string            // of a spread constraint, the counts
}

// findings applies all rules to a binding to a node in the given state, always in the same order.
func (v *schedulingView) findings(here *corev1.Node) []finding {
	r := v.pod.Rules
	fit, taint := r.fit(here), ""
	if fit.Untolerated != nil {
		taint = fit.Untolerated.ToString()
	}
	all := []finding{
		{broken: surelyIf(!fit.Admitted), words: "which its node selector or node affinity excludes"},
		{broken: surelyIf(fit.Untolerated != nil), words: fmt.Sprintf("whose taint %s it does not tolerate", taint)},
		{broken: surelyIf(fit.Cordoned), words: "which was cordoned"},
	}
	for _, c := range r.Spread {
		all = append(all, v.spread(c, here))
	}
	return append(all, v.antiAffinity(here), v.othersAntiAffinity(here), v.affinity(here))
}

func surelyIf(broken bool) evidence.Presence {
	if broken {
		return evidence.Sure
	}
	return evidence.No
}

// spread applies a spread constraint. The skew is the count of the pod's domain, with the pod itself if the constraint selects it,
// minus the count of the emptiest domain. The latter is 0 if there are fewer domains than minDomains.
func (v *schedulingView) spread(c spreadRule, here *corev1.Node) finding {
	against := fmt.Sprintf("against maxSkew %d over %s", c.MaxSkew, c.TopologyKey)
	minDomains := int(ptr.Deref(c.MinDomains, 0))
	if minDomains > 0 {
		against = fmt.Sprintf("against maxSkew %d and minDomains %d over %s", c.MaxSkew, minDomains, c.TopologyKey)
	}
	domain, has := here.Labels[c.TopologyKey]
	if !has {
		return finding{broken: evidence.Sure, words: against + ": the node has no such label"}
	}
	self := 0
	if v.about(c, v.pod.Labels) {
		self = 1
	}
	domains := v.countPods(c)
	least, most := skews(domains, domain, minDomains, self)
	counts := make(map[string]int, len(domains))
	for name, t := range domains {
		counts[name] = t.most
	}
	f := finding{
		words: fmt.Sprintf("%s: with %s before it, it made a skew of %d in %s", against, prose.Amounts(counts), most, domain),
		seen:  fmt.Sprintf("%s before it, skew %d in %s, and %d is allowed", prose.Amounts(counts), most, domain, c.MaxSkew),
	}
	if most > int(c.MaxSkew) {
		f.broken = evidence.Maybe
	}
	if least > int(c.MaxSkew) {
		f.broken = evidence.Sure
	}
	return f
}

// antiAffinity applies the pod's own required anti-affinity: no pod that a term selects may be in the same domain.
func (v *schedulingView) antiAffinity(here *corev1.Node) (f finding) {
	for _, t := range v.pod.Rules.antiAffinity {
		for _, q := range v.pods {
			clash := min(q.there, q.selectedBy(t.matches), v.sharesDomain(q, t.TopologyKey, here))
			if clash > f.broken {
				f = finding{broken: clash, words: fmt.Sprintf("against its anti-affinity over %s: %s was on %s", t.TopologyKey, q.Name, q.Node)}
			}
		}
	}
	return f
}

// othersAntiAffinity applies the required anti-affinity of the existing pods, which keeps other pods away from them.
func (v *schedulingView) othersAntiAffinity(here *corev1.Node) (f finding) {
	for _, q := range v.pods {
		if q.Rules == nil {
			continue
		}
		for _, t := range q.Rules.antiAffinity {
			if !t.matches(v.pod.Labels) {
				continue
			}
			if clash := min(q.there, v.sharesDomain(q, t.TopologyKey, here)); clash > f.broken {
				f = finding{broken: clash, words: fmt.Sprintf("against the anti-affinity over %s of %s on %s", t.TopologyKey, q.Name, q.Node)}
			}
		}
	}
	return f
}

// affinity applies the pod's required affinity: in the domain of each term there must be a pod that all terms select. If no such
// pod exists anywhere, a pod that its own terms select may be the first.
func (v *schedulingView) affinity(here *corev1.Node) (f finding) {
	terms := v.pod.Rules.affinity
	if len(terms) == 0 {
		return f
	}
	selected := func(labels map[string]string) bool {
		return !slices.ContainsFunc(terms, func(t podTerm) bool { return !t.matches(labels) })
	}
	met, anywhere := evidence.Sure, evidence.No
	for _, t := range terms {
		company := evidence.No
		if _, has := here.Labels[t.TopologyKey]; !has {
			return finding{broken: evidence.Sure, words: fmt.Sprintf("against its affinity over %s: the node has no such label", t.TopologyKey)}
		}
		for _, q := range v.pods {
			there := min(q.there, q.selectedBy(selected))
			company = max(company, min(there, v.sharesDomain(q, t.TopologyKey, here)))
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
	if selected(v.pod.Labels) {
		met = max(met, anywhere.Not())
	}
	f.broken = met.Not()
	return f
}

// Legality is the result for a binding.
type Legality struct {
	Broken evidence.Presence // sure: illegal whatever the scheduler saw; no: legal whatever it saw
	Told   bool              // illegal by the order of the record
	Words  string            // how it is illegal, if it may be
	Seen   []string          // for each spread constraint, the counts by the order of the record
}

// Judge applies the rules to a binding; known is false if the record does not have the pod's node. A binding is surely illegal if,
// in every state that the node may have had, some rule is broken in every order of the other events. Each rule is applied by
// itself, so Judge may miss that no order obeys all of them at once.
func (l *Ledger) Judge(p *PlacedPod) (v Legality, known bool) {
	wide, told := l.view(p, evidence.WatchSkew), l.view(p, 0)
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
	v.describe(told, wide, rule)
	return v, true
}

// describe sets the words from the order of the record, which is one of the possible orders.
func (v *Legality) describe(told, wide *schedulingView, rule int) {
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
