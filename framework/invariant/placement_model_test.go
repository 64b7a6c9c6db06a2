package invariant_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// placementModel is a small cluster with a scheduler that obeys the rules, or all but one. The scheduler goes by a cache
// that lags behind, and what happens reaches the record by two watches that lag, too.
type placementModel struct {
	random *rand.Rand
	flaw   string // the rule that the scheduler does not know

	now    time.Duration
	lag    time.Duration // the longest that the cache, a binding and a watch each take
	real   modelWorld
	cache  modelWorld
	coming []modelChange // to the cache
	told   []modelEvent
	kinds  []modelPlaced // of pods
	pods   int
	broken bool // a binding was against the rules as things were
}

type modelWorld struct {
	nodes map[string]modelNode
	pods  map[string]modelPlaced
}

type modelNode struct {
	labels   map[string]string
	tainted  bool
	cordoned bool
}

type modelPlaced struct {
	name, app, rev, node string
	going                bool
	bound                time.Duration // when it is written down
	rules                *modelRules
}

type modelRules struct {
	pool      string
	tolerates bool
	spread    []modelSpread
	anti, aff []modelTerm
}

type modelSpread struct {
	key, app            string
	skew, domains       int
	byRev               bool
	affinity, taintsToo bool // Honor
}

type modelTerm struct{ key, app string }

type modelChange struct {
	at   time.Duration
	make func(*modelWorld)
}

type modelEvent struct {
	at    time.Duration
	event history.Event
}

const modelKey = "zone" // another key is host

func newPlacementModel(seed uint64, flaw string, lag time.Duration) *placementModel {
	m := &placementModel{random: rand.New(rand.NewPCG(seed, 77)), flaw: flaw, lag: lag, now: 3 * second}
	m.real, m.cache = newModelWorld(), newModelWorld()
	zones := 1 + m.random.IntN(4)
	for i := range 2 + m.random.IntN(5) {
		n := modelNode{labels: map[string]string{"host": fmt.Sprintf("n%d", i), "pool": m.one("x", "y"), modelKey: fmt.Sprintf("z%d", m.random.IntN(zones))}}
		n.tainted, n.cordoned = m.random.IntN(6) == 0, m.random.IntN(10) == 0
		if m.random.IntN(8) == 0 {
			delete(n.labels, modelKey)
		}
		m.real.nodes[fmt.Sprintf("n%d", i)] = n
		m.tell(2*second, nodeEvent(fmt.Sprintf("n%d", i), n, history.Listed))
	}
	maps.Copy(m.cache.nodes, m.real.nodes)
	return m
}

func newModelWorld() modelWorld {
	return modelWorld{nodes: make(map[string]modelNode), pods: make(map[string]modelPlaced)}
}

func (m *placementModel) one(of ...string) string { return of[m.random.IntN(len(of))] }

func (m *placementModel) some(n time.Duration) time.Duration {
	if n == 0 {
		return 0
	}
	return time.Duration(m.random.Int64N(int64(n)))
}

func (m *placementModel) tell(at time.Duration, e history.Event) {
	m.told = append(m.told, modelEvent{at, e})
}

// happen changes the world, and the scheduler's cache a little later.
func (m *placementModel) happen(change func(*modelWorld)) {
	change(&m.real)
	at := m.now + m.some(m.lag)
	if n := len(m.coming); n > 0 {
		at = max(at, m.coming[n-1].at) // the cache takes them in order
	}
	m.coming = append(m.coming, modelChange{at, change})
}

func (m *placementModel) step(pause time.Duration) {
	m.now += pause
	for len(m.coming) > 0 && m.coming[0].at <= m.now {
		m.coming[0].make(&m.cache)
		m.coming = m.coming[1:]
	}
	switch m.random.IntN(10) {
	case 0:
		m.changeNode()
	case 1, 2:
		m.deletePod()
	default:
		m.schedule()
	}
}

func (m *placementModel) changeNode() {
	names := slices.Sorted(maps.Keys(m.real.nodes))
	name := names[m.random.IntN(len(names))]
	n := m.real.nodes[name]
	n.labels = maps.Clone(n.labels)
	change := history.Modified
	switch m.random.IntN(6) {
	case 0:
		n.cordoned = !n.cordoned
	case 1:
		n.tainted = !n.tainted
	case 2:
		n.labels["pool"] = m.one("x", "y")
	case 3:
		delete(n.labels, modelKey)
	case 4:
		n.labels[modelKey] = m.one("z0", "z1", "z2")
	default:
		name, change = fmt.Sprintf("m%d", m.pods), history.Added
		n = modelNode{labels: map[string]string{"host": name, "pool": "x", modelKey: m.one("z0", "z5")}}
	}
	m.happen(func(w *modelWorld) { w.nodes[name] = n })
	m.tell(m.now, nodeEvent(name, n, change))
}

// deletePod has a pod go, or one that is going be gone. A pod whose binding was decided may vanish before it is written.
func (m *placementModel) deletePod() {
	names := slices.Sorted(maps.Keys(m.real.pods))
	if len(names) == 0 {
		return
	}
	p := m.real.pods[names[m.random.IntN(len(names))]]
	if p.going || p.bound > m.now {
		if p.bound > m.now {
			p.node = ""
			m.told = slices.DeleteFunc(m.told, func(e modelEvent) bool { return e.at > m.now && e.event.Pod != nil && e.event.Pod.Name == p.name })
		}
		m.happen(func(w *modelWorld) { delete(w.pods, p.name) })
		m.tell(m.now, podEvent(p, history.Deleted))
		return
	}
	p.going = true
	m.happen(func(w *modelWorld) { w.pods[p.name] = p })
	m.tell(m.now, podEvent(p, history.Modified))
}

func (m *placementModel) rules() *modelRules {
	r := &modelRules{tolerates: m.random.IntN(3) == 0}
	if m.random.IntN(3) == 0 {
		r.pool = m.one("x", "y")
	}
	flip := func() bool { return m.random.IntN(2) == 0 }
	if slices.Contains([]string{"minDomains", "matchLabelKeys", "affinityPolicy", "taintsPolicy"}, m.flaw) {
		// What these break shows only where nothing else decides.
		r.pool = m.one("", "x", "y")
		r.spread = []modelSpread{{key: m.one("zone", "host"), app: "a", skew: 1, domains: m.random.IntN(4), byRev: flip(), affinity: flip(), taintsToo: flip()}}
		return r
	}
	for range m.random.IntN(3) {
		r.spread = append(r.spread, modelSpread{
			key: m.one("zone", "zone", "host"), app: m.one("a", "a", "b"), skew: 1 + m.random.IntN(2), domains: m.random.IntN(4),
			byRev: flip(), affinity: flip(), taintsToo: flip(),
		})
	}
	for range m.random.IntN(8) / 6 {
		r.anti = append(r.anti, modelTerm{m.one("zone", "host"), m.one("a", "b")})
	}
	for range m.random.IntN(8) / 6 {
		r.aff = append(r.aff, modelTerm{m.one("zone", "host"), m.one("a", "b")})
	}
	return r
}

func (m *placementModel) schedule() {
	m.pods++
	if len(m.kinds) == 0 || len(m.kinds) < 4 && m.random.IntN(4) == 0 {
		m.kinds = append(m.kinds, modelPlaced{app: m.one("a", "a", "b"), rev: m.one("1", "2"), rules: m.rules()})
	}
	p := m.kinds[m.random.IntN(len(m.kinds))]
	p.name = fmt.Sprintf("p%d", m.pods)
	added := podEvent(p, history.Added)
	added.Pod.Rules = p.rules.json()
	m.tell(m.now, added)
	var fit []string
	for _, name := range slices.Sorted(maps.Keys(m.cache.nodes)) {
		if m.cache.allows(p, name, m.flaw) {
			fit = append(fit, name)
		}
	}
	if len(fit) == 0 {
		return
	}
	p.node = fit[m.random.IntN(len(fit))]
	m.broken = m.broken || !m.real.allows(p, p.node, "")
	p.bound = m.now + m.some(m.lag)
	m.real.pods[p.name], m.cache.pods[p.name] = p, p
	m.tell(p.bound, podEvent(p, history.Modified))
}

// allows is the whole of the rules, said a second time and as plainly as can be: may p go to a node?
func (w modelWorld) allows(p modelPlaced, name, flaw string) bool {
	n := w.nodes[name]
	fits := func(n modelNode) bool { return p.rules.pool == "" || n.labels["pool"] == p.rules.pool }
	open := func(n modelNode) bool { return !n.tainted || p.rules.tolerates }
	if !fits(n) && flaw != "selector" || !open(n) && flaw != "taints" || n.cordoned && flaw != "cordon" {
		return false
	}
	for _, c := range p.rules.spread {
		domain, has := n.labels[c.key]
		if !has {
			return false
		}
		counts := make(map[string]int)
		for name, k := range w.nodes {
			all := true
			for _, c := range p.rules.spread {
				_, has := k.labels[c.key]
				all = all && has
			}
			if !all || !fits(k) && c.affinity != (flaw == "affinityPolicy") ||
				!open(k) && c.taintsToo != (flaw == "taintsPolicy") {
				continue
			}
			counts[k.labels[c.key]] += 0
			for _, q := range w.pods {
				if q.node == name && (!q.going || flaw == "terminating") && q.app == c.app && (!c.byRev || q.rev == p.rev || flaw == "matchLabelKeys") {
					counts[k.labels[c.key]]++
				}
			}
		}
		if flaw == "empty" {
			maps.DeleteFunc(counts, func(_ string, n int) bool { return n == 0 })
		}
		least := 0
		if len(counts) >= max(c.domains, 1) || flaw == "minDomains" && len(counts) > 0 {
			least = slices.Min(slices.Collect(maps.Values(counts)))
		}
		self := 0
		if p.app == c.app {
			self = 1
		}
		if counts[domain]+self-least > c.skew && flaw != "maxSkew" {
			return false
		}
	}
	near := func(q modelPlaced, key string) bool {
		there, has := w.nodes[q.node].labels[key]
		here, ok := n.labels[key]
		return has && ok && here == there
	}
	for _, q := range w.pods {
		for _, t := range p.rules.anti {
			if q.app == t.app && near(q, t.key) && flaw != "anti" {
				return false
			}
		}
		for _, t := range q.rules.anti {
			if p.app == t.app && near(q, t.key) && flaw != "symmetric" {
				return false
			}
		}
	}
	return flaw == "affinity" || w.company(p, n, near, flaw)
}

// company tells whether required affinity is met.
func (w modelWorld) company(p modelPlaced, n modelNode, near func(modelPlaced, string) bool, flaw string) bool {
	wanted := func(q modelPlaced) bool {
		for _, t := range p.rules.aff {
			if q.app != t.app {
				return false
			}
		}
		return true
	}
	met, anywhere := true, false
	for _, t := range p.rules.aff {
		found := false
		for _, q := range w.pods {
			_, in := w.nodes[q.node].labels[t.key]
			found = found || wanted(q) && near(q, t.key)
			anywhere = anywhere || wanted(q) && in
		}
		met = met && found
		if _, has := n.labels[t.key]; !has {
			return false
		}
	}
	return met || !anywhere && (wanted(p) || flaw == "first")
}

// json writes rules as Kubernetes does, in one of several ways to say the same.
func (r *modelRules) json() json.RawMessage {
	type object = map[string]any
	required := func(what any) object { return object{"requiredDuringSchedulingIgnoredDuringExecution": what} }
	chosen := func(app string) object {
		return object{"matchExpressions": []object{{"key": "app", "operator": "In", "values": []string{app}}}}
	}
	terms := func(of []modelTerm) (all []object) {
		for _, t := range of {
			all = append(all, object{"topologyKey": t.key, "labelSelector": chosen(t.app)})
		}
		return all
	}
	policy := map[bool]string{true: "Honor", false: "Ignore"}
	spec, affinity := object{}, object{}
	if r.tolerates {
		spec["tolerations"] = []object{{"key": "t", "value": "v", "effect": "NoSchedule"}}
	}
	if r.pool == "x" {
		spec["nodeSelector"] = object{"pool": "x"}
	} else if r.pool != "" {
		affinity["nodeAffinity"] = required(object{"nodeSelectorTerms": []object{{}, {"matchExpressions": []object{{"key": "pool", "operator": "NotIn", "values": []string{"x"}}}}}})
	}
	var spread []object
	for _, c := range r.spread {
		o := object{"maxSkew": c.skew, "topologyKey": c.key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": object{"matchLabels": object{"app": c.app}}}
		if c.domains > 0 {
			o["minDomains"] = c.domains
		}
		if c.byRev {
			o["matchLabelKeys"] = []string{"rev", "not-there"}
		}
		if !c.affinity { // Honor is the default
			o["nodeAffinityPolicy"] = policy[c.affinity]
		}
		if c.taintsToo { // Ignore is the default
			o["nodeTaintsPolicy"] = policy[c.taintsToo]
		}
		spread = append(spread, o)
	}
	spec["topologySpreadConstraints"] = spread
	affinity["podAntiAffinity"], affinity["podAffinity"] = required(terms(r.anti)), required(terms(r.aff))
	spec["affinity"] = affinity
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	return raw
}

func nodeEvent(name string, n modelNode, change history.Change) history.Event {
	node := &history.Node{Change: change, Name: name, Labels: n.labels, Ready: "True", Unschedulable: n.cordoned}
	if n.tainted {
		node.Taints = []string{"t=v:NoSchedule", "other=v:PreferNoSchedule"}
	}
	return history.Event{Node: node}
}

func podEvent(p modelPlaced, change history.Change) history.Event {
	return history.Event{Pod: &history.Pod{
		Change: change, Namespace: ht.Namespace, Name: p.name, UID: p.name, Node: p.node, Phase: "Running", Deleting: p.going,
		Labels: map[string]string{"part": "test", "app": p.app, "rev": p.rev},
	}}
}

// Record is the record: each watch tells in order, late.
func (m *placementModel) run() history.Run {
	b := newStepped().DropEvents(func(e history.Event) bool { return e.Node != nil })
	b.Workload(2*second, history.Workload{Change: history.Listed, Namespace: ht.Namespace, Name: "test", Selector: map[string]string{"part": "test"}})
	slices.SortStableFunc(m.told, func(a, b modelEvent) int { return cmp.Compare(a.at, b.at) })
	last := make(map[bool]time.Duration)
	for _, e := range m.told {
		watch := e.event.Pod != nil
		last[watch] = max(last[watch], e.at+m.some(m.lag))
		e.event.T = last[watch]
		b.Event(e.event)
	}
	return b.Run()
}

// TestPlacementModelObeyed: whatever a scheduler that obeys did not know yet, and in whatever order it is told, it is
// never accused.
func TestPlacementModelObeyed(t *testing.T) {
	t.Parallel()
	const runs = 2000
	bindings, certain, wrong := 0.0, 0.0, 0
	for seed := range uint64(runs) {
		m := newPlacementModel(seed, "", 330*ms)
		slow := time.Duration(1+m.random.IntN(6)) * 200 * ms
		for range 8 + m.random.IntN(20) {
			m.step(m.some(slow))
		}
		v := judge.Check(m.run(), invariant.Placement{})
		if v.Outcome == verdict.Violated {
			t.Fatalf("seed %d: %s", seed, v.Seen)
		}
		bindings, certain = bindings+v.Numbers["bindings"], certain+v.Numbers["certainBindings"]
		if m.broken {
			wrong++
		}
	}
	t.Logf("%.0f bindings, %.0f certain; in %d of %d runs the scheduler decided by what was no longer so", bindings, certain, wrong, runs)
	if bindings < 5*runs || certain < bindings/4 || certain > bindings*0.95 || wrong < runs/40 {
		t.Errorf("%.0f bindings, %.0f certain, %d by an old cache: the model proves little", bindings, certain, wrong)
	}
}

// TestPlacementModelBroken: when what happens lies further apart than the skew, every binding that breaks a rule is seen,
// and nothing else, whichever rule the scheduler does not know.
func TestPlacementModelBroken(t *testing.T) {
	t.Parallel()
	const runs = 120
	flaws := []string{
		"", "selector", "taints", "cordon", "maxSkew", "minDomains", "matchLabelKeys", "affinityPolicy", "taintsPolicy", "empty",
		"terminating", "anti", "symmetric", "affinity", "first",
	}
	for _, flaw := range flaws {
		t.Run(flaw, func(t *testing.T) {
			broken := 0
			for seed := range uint64(runs) {
				m := newPlacementModel(seed, flaw, 300*ms)
				for range 20 {
					m.step(2*second + m.some(300*ms))
				}
				v := judge.Check(m.run(), invariant.Placement{})
				if got := v.Outcome == verdict.Violated; got != m.broken {
					t.Fatalf("seed %d: broken is %t, and %s: %s", seed, m.broken, v.Outcome, v.Seen)
				}
				if m.broken {
					broken++
				}
			}
			t.Logf("broken in %d of %d runs", broken, runs)
			if flaw != "" && broken < runs/40 || flaw == "" && broken > 0 {
				t.Errorf("broken in %d of %d runs: the model proves little", broken, runs)
			}
		})
	}
}

// TestPlacementModelBursts: of pods that are made at once, a scheduler that does not count those it has just decided on
// is mostly caught, and one that does, never.
func TestPlacementModelBursts(t *testing.T) {
	t.Parallel()
	for _, flaw := range []string{"", "maxSkew", "anti"} {
		broken, caught := 0, 0
		for seed := range uint64(300) {
			m := newPlacementModel(seed, flaw, 100*ms)
			for range 3 {
				m.kinds = []modelPlaced{{app: "a", rev: fmt.Sprint(m.pods), rules: m.rules()}}
				m.kinds[0].rules.spread = append(m.kinds[0].rules.spread, modelSpread{key: "host", app: "a", skew: 1, byRev: true})
				for range 4 {
					m.now += m.some(100 * ms)
					m.kinds = m.kinds[:1]
					m.schedule()
				}
				m.now += 3 * second
			}
			v := judge.Check(m.run(), invariant.Placement{})
			if v.Outcome == verdict.Violated && !m.broken {
				t.Fatalf("flaw %q, seed %d: %s", flaw, seed, v.Seen)
			}
			if m.broken {
				broken++
			}
			if v.Outcome == verdict.Violated {
				caught++
			}
		}
		t.Logf("flaw %q: broken in %d runs, caught in %d", flaw, broken, caught)
		if flaw != "" && (broken < 30 || caught*10 < broken*7) {
			t.Errorf("flaw %q: broken in %d runs, caught in %d", flaw, broken, caught)
		}
	}
}
