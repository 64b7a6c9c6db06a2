package invariant_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// rulesModel is a cluster with two Deployments and two budgets that may choose the same pods. Its eviction API and its
// disruption controller are written down once more, as plainly as can be, from what Kubernetes does; what happens lies
// further apart than the skew, so that nothing is in doubt.
//
// Source: Create in kubernetes pkg/registry/core/pod/storage/eviction.go, getExpectedPodCount and countHealthyPods in
// pkg/controller/disruption/disruption.go, as of v1.37
type rulesModel struct {
	random *rand.Rand
	flaw   string // the rule that the API does not know
	record *ht.Builder
	log    []string // of what happened, for whoever has to understand a failure

	now      time.Duration
	replicas map[string]int
	pods     []*rulesPod
	budgets  []rulesBudget
	nodes    map[string]string // what Ready says
	made     int

	broken bool
	counts map[string]float64 // that the verdict must have
}

type rulesPod struct {
	name, app, node string
	ready, pending  bool
}

type rulesBudget struct {
	name, label, value string // it chooses pods by one label
	min, max           string
	always             bool // AlwaysAllow
}

func newRulesModel(seed uint64, flaw string) *rulesModel {
	m := &rulesModel{
		random: rand.New(rand.NewPCG(seed, 5)), flaw: flaw, record: newStepped().Builder, now: 13 * second,
		replicas: make(map[string]int), nodes: make(map[string]string), counts: map[string]float64{"accepted": 0, "refused": 0, "refusedUnderSeveralBudgets": 0},
	}
	for _, node := range []string{"w1", "w2", "w3", "w4", "w5", "w6"} {
		m.nodes[node] = "True"
	}
	for _, app := range []string{"a", "b"} {
		m.replicas[app] = 1 + m.random.IntN(6)
		m.tellWorkload(app, 3*second)
		for range m.replicas[app] {
			p := m.create(app)
			p.ready, p.pending = true, false
			m.tell(p, 3*second, history.Listed, "")
		}
	}
	second := m.one("b", "b", "") // the second budget is about the other Deployment, or about both
	for i, app := range []string{"a", second} {
		b := rulesBudget{name: fmt.Sprintf("budget-%d", i+1), label: "app", value: app, always: m.random.IntN(2) == 0}
		if app == "" {
			b.label, b.value = "part", "test"
		}
		amount := m.one("0", "1", "2", "3", "0%", "20%", "34%", "50%", "67%", "100%")
		if m.random.IntN(2) == 0 {
			b.min = amount
		} else {
			b.max = amount
		}
		m.budgets = append(m.budgets, b)
		m.tellBudget(b, 3*time.Second)
	}
	return m
}

func (m *rulesModel) one(of ...string) string { return of[m.random.IntN(len(of))] }

func (m *rulesModel) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf("%s ", m.now)+fmt.Sprintf(format, args...))
}

func (m *rulesModel) create(app string) *rulesPod {
	var ready []string
	for _, node := range slices.Sorted(maps.Keys(m.nodes)) {
		if m.nodes[node] == "True" {
			ready = append(ready, node)
		}
	}
	m.made++
	p := &rulesPod{name: fmt.Sprintf("%s-%d", app, m.made), app: app, node: m.one(ready...), pending: true}
	m.pods = append(m.pods, p)
	return p
}

func (p *rulesPod) labels() map[string]string { return map[string]string{"app": p.app, "part": "test"} }

func (m *rulesModel) tell(p *rulesPod, at time.Duration, change history.Change, disruption string) {
	phase := "Running"
	if p.pending {
		phase = "Pending"
	}
	m.record.Pod(at, history.Pod{
		Change: change, Name: p.name, UID: p.name, Labels: p.labels(), Node: p.node, Phase: phase, Ready: p.ready,
		Deleting: disruption != "", Disruption: strings.TrimPrefix(disruption, "none"),
	})
}

func (m *rulesModel) tellWorkload(app string, at time.Duration) {
	m.record.Workload(at, history.Workload{
		Change: history.Modified, Name: app, Selector: map[string]string{"app": app}, Replicas: m.replicas[app], Observed: true,
	})
}

func (m *rulesModel) tellBudget(b rulesBudget, at time.Duration) {
	policy := map[bool]string{true: "AlwaysAllow", false: "IfHealthyBudget"}[b.always]
	m.note("%s: %s=%s minAvailable %q maxUnavailable %q %s", b.name, b.label, b.value, b.min, b.max, policy)
	m.record.Budget(at, history.Budget{
		Change: history.Added, Name: b.name, Selector: map[string]string{b.label: b.value}, MinAvailable: b.min, MaxUnavailable: b.max,
		UnhealthyPodEvictionPolicy: policy, Observed: true,
	})
}

func (b rulesBudget) chooses(p *rulesPod) bool { return p.labels()[b.label] == b.value }

// healthy and desired are what the disruption controller computes.
func (m *rulesModel) healthy(b rulesBudget) (n int) {
	for _, p := range m.pods {
		if b.chooses(p) && p.ready {
			n++
		}
	}
	return n
}

func (m *rulesModel) desired(b rulesBudget, flaw string) int {
	there, scales := 0, make(map[string]int)
	for _, p := range m.pods {
		if b.chooses(p) {
			there++
			scales[p.app] = m.replicas[p.app]
		}
	}
	expected := 0
	for _, scale := range scales {
		expected += scale
	}
	if flaw == "expected" { // as if percentages were of the pods that are ready
		expected = m.healthy(b)
	}
	read := func(value string) (n int) {
		if _, err := fmt.Sscanf(value, "%d%%", &n); err == nil && strings.HasSuffix(value, "%") {
			if flaw == "rounding" {
				return n * expected / 100
			}
			return (n*expected + 99) / 100
		}
		_, _ = fmt.Sscanf(value, "%d", &n)
		return n
	}
	if b.max != "" {
		if flaw == "rounding" {
			return max(0, expected-read(b.max)-1)
		}
		return max(0, expected-read(b.max))
	}
	return read(b.min)
}

// evict is the eviction API.
func (m *rulesModel) evict(p *rulesPod) {
	var over []rulesBudget
	for _, b := range m.budgets {
		if b.chooses(p) {
			over = append(over, b)
		}
	}
	accepted, answer := true, history.Eviction{Pod: p.name}
	switch {
	case p.pending || m.flaw == "everything":
	case len(over) > 1 && m.flaw != "several":
		accepted, answer.Message = false, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
	case len(over) > 0:
		b := over[0]
		healthy, desired := m.healthy(b), m.desired(b, m.flaw)
		lets := !p.ready && (b.always || m.flaw == "unhealthy" || healthy >= desired && desired > 0)
		if accepted = lets || healthy > desired; !accepted {
			answer.Budget, answer.Message = b.name, "The disruption budget needs more"
		}
	}
	answer.Accepted = accepted
	m.note("evict %s (ready %t, pending %t): %t %s %s", p.name, p.ready, p.pending, accepted, answer.Budget, answer.Message)
	if !accepted {
		if m.counts["refused"]++; answer.Budget == "" {
			m.counts["refusedUnderSeveralBudgets"]++
		}
		m.record.Eviction(m.now, answer)
		return
	}
	for _, b := range over {
		healthy, desired := m.healthy(b), m.desired(b, "")
		switch {
		case p.ready:
			m.broken = m.broken || healthy-1 < desired
		case !p.pending:
			m.broken = m.broken || !b.always && healthy < desired
		}
	}
	if len(over) > 0 {
		m.counts["accepted"]++
	}
	if m.random.IntN(2) == 0 { // or somebody else asked
		m.record.Eviction(m.now, answer)
	}
	m.leave(p, "eviction", "EvictionByEvictionAPI", true)
}

// leave has a pod go, and count for a cause if it was healthy and a budget was over it.
func (m *rulesModel) leave(p *rulesPod, cause, disruption string, replaced bool) {
	if p.ready && slices.ContainsFunc(m.budgets, func(b rulesBudget) bool { return b.chooses(p) }) {
		m.counts["gone."+cause]++
	}
	m.tell(p, m.now, history.Modified, disruption)
	m.tell(p, m.now+2*second, history.Deleted, disruption)
	m.pods = slices.DeleteFunc(m.pods, func(other *rulesPod) bool { return other == p })
	if replaced {
		fresh := m.create(p.app)
		m.tell(fresh, m.now+1500*ms, history.Added, "")
	}
}

// step has one thing happen, and then others become ready.
func (m *rulesModel) step() {
	m.now += 3 * second
	if len(m.pods) == 0 {
		return
	}
	p := m.pods[m.random.IntN(len(m.pods))]
	switch m.random.IntN(14) {
	case 0:
		m.note("delete %s", p.name)
		m.leave(p, "deletion", "none", true)
	case 1:
		m.note("preempt %s", p.name)
		m.leave(p, "preemption", "PreemptionByScheduler", true)
	case 2:
		m.note("%s is evicted by its kubelet", p.name)
		m.leave(p, "kubelet", "TerminationByKubelet", true)
	case 3:
		m.scaleDown(p.app)
	case 4:
		m.lose(p.node)
	case 5, 6, 7:
		if p.ready {
			m.note("%s fails its probe", p.name)
			p.ready = false
			m.tell(p, m.now, history.Modified, "")
			if slices.ContainsFunc(m.budgets, func(b rulesBudget) bool { return b.chooses(p) }) {
				m.counts["gone.unready"]++
			}
		}
	default:
		m.evict(p)
	}
	for _, p := range m.pods {
		if !p.ready && m.nodes[p.node] == "True" && m.random.IntN(3) == 0 {
			p.ready, p.pending = p.pending && m.random.IntN(2) == 0 || !p.pending, false
			m.note("%s runs, ready %t", p.name, p.ready)
			m.tell(p, m.now+1600*ms, history.Modified, "")
		}
	}
}

func (m *rulesModel) scaleDown(app string) {
	if m.replicas[app] < 2 {
		return
	}
	m.replicas[app]--
	m.note("scale %s to %d", app, m.replicas[app])
	m.tellWorkload(app, m.now)
	for _, p := range m.pods {
		if p.app == app {
			m.leave(p, "scaleDown", "none", false)
			return
		}
	}
}

// lose takes a node away, with its pods: they are no longer ready, and some of them are replaced.
func (m *rulesModel) lose(node string) {
	left := 0
	for _, ready := range m.nodes {
		if ready == "True" {
			left++
		}
	}
	if left < 3 || m.nodes[node] != "True" {
		return
	}
	m.note("lose %s", node)
	m.nodes[node] = "Unknown"
	n := ht.ReadyNode(node, ht.ZoneOf(node))
	n.Change, n.Ready = history.Modified, "Unknown"
	m.record.Node(m.now, n)
	for _, p := range slices.Clone(m.pods) {
		switch {
		case p.node != node:
		case m.random.IntN(2) == 0:
			m.leave(p, "lostNode", "DeletionByTaintManager", true)
		case p.ready:
			p.ready = false
			m.tell(p, m.now, history.Modified, "")
			if slices.ContainsFunc(m.budgets, func(b rulesBudget) bool { return b.chooses(p) }) {
				m.counts["gone.lostNode"]++
			}
		}
	}
}

// differs says how a verdict differs from what the model knows; empty: it does not.
func (m *rulesModel) differs() string {
	v := judge.Check(m.record.Run(), invariant.BudgetHonoured{})
	if got := v.Outcome == verdict.Violated; got != m.broken {
		return fmt.Sprintf("broken is %t, and %s: %s", m.broken, v.Outcome, v.Seen)
	}
	counted := make(map[string]float64)
	for name, n := range v.Numbers {
		if _, has := m.counts[name]; has || strings.HasPrefix(name, "gone.") {
			counted[name] = n
		}
	}
	return cmp.Diff(m.counts, counted)
}

// runRules runs a model for some steps.
func runRules(seed uint64, flaw string, steps int) *rulesModel {
	m := newRulesModel(seed, flaw)
	for range steps {
		m.step()
	}
	return m
}

// TestBudgetRules: whatever happens, and whichever rule the eviction API does not know, an accepted eviction that Kubernetes
// would have refused is found, no other is, and what left is counted by its cause.
func TestBudgetRules(t *testing.T) {
	t.Parallel()
	const runs, steps = 400, 12
	for _, flaw := range []string{"", "everything", "several", "unhealthy", "rounding", "expected"} {
		t.Run(flaw, func(t *testing.T) {
			broken, totals := 0, make(map[string]float64)
			for seed := range uint64(runs) {
				m := runRules(seed, flaw, steps)
				if m.differs() != "" {
					for n := range steps + 1 { // the shortest history that shows it
						if m = runRules(seed, flaw, n); m.differs() != "" {
							break
						}
					}
					t.Fatalf("flaw %q, seed %d: %s\n%s", flaw, seed, m.differs(), strings.Join(m.log, "\n"))
				}
				if m.broken {
					broken++
				}
				for name, n := range m.counts {
					totals[name] += n
				}
			}
			t.Logf("broken in %d of %d runs; %v", broken, runs, totals)
			if flaw == "" && broken > 0 || flaw != "" && broken < runs/50 {
				t.Errorf("broken in %d of %d runs: the model proves little", broken, runs)
			}
			for _, name := range []string{
				"accepted", "refused", "refusedUnderSeveralBudgets", "gone.eviction", "gone.deletion", "gone.preemption", "gone.kubelet",
				"gone.scaleDown", "gone.lostNode", "gone.unready",
			} {
				if totals[name] < 20 && (flaw == "" || !strings.HasPrefix(name, "refused")) {
					t.Errorf("%s: %v in all runs: the model proves little", name, totals[name])
				}
			}
		})
	}
}
