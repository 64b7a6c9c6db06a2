package invariant_test

import (
	"fmt"
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

// budgetModel is a small API server: pods, a budget, and an eviction API that obeys the budget, or does not. What
// happens reaches the record as it does in a cluster: each kind by a stream of its own, dated when it arrived.
type budgetModel struct {
	random  *rand.Rand
	record  *ht.Builder
	obeys   bool
	desired int
	slow    time.Duration // the longest that a pod takes to become ready

	now     time.Duration
	pods    []modelPod
	made    int
	budget  history.Budget
	arrived map[string]time.Duration // of the last event of a stream
	broken  bool                     // an accepted eviction took the healthy pods below what is desired
}

type modelPod struct {
	name  string
	ready bool
	from  time.Duration // when it becomes ready
}

// maxDelay stays below the skew that the ledger allows for.
const maxDelay = 900 * ms

func newBudgetModel(seed uint64, obeys bool) *budgetModel {
	m := &budgetModel{
		random: rand.New(rand.NewPCG(seed, 1)), obeys: obeys, slow: 3 * second, now: 16 * second, arrived: make(map[string]time.Duration),
		record: newStepped().Builder,
	}
	replicas := 3 + m.random.IntN(6)
	unavailable := 1 + m.random.IntN(2)
	m.desired = replicas - unavailable
	b := ht.BackendBudget(replicas, unavailable)
	switch m.random.IntN(3) {
	case 0:
		b.MinAvailable, b.MaxUnavailable = fmt.Sprint(m.desired), ""
	case 1:
		b.MaxUnavailable = fmt.Sprint(unavailable)
	default:
		b.MinAvailable, b.MaxUnavailable = fmt.Sprintf("%d%%", 100*m.desired/replicas), ""
		m.desired = (100*m.desired/replicas*replicas + 99) / 100
	}
	m.budget = b
	w := ht.BackendWorkload(replicas, replicas)
	w.Replicas = replicas
	m.record.Workload(3*second, w).Budget(3*second, b)
	for range replicas {
		m.create(3 * second)
		m.pods[len(m.pods)-1].ready = true
		m.tell(m.pods[len(m.pods)-1], 3*second, false)
	}
	return m
}

// arrive is when what happens now gets into the record: never before what the same stream said earlier.
func (m *budgetModel) arrive(stream string) time.Duration {
	at := max(m.arrived[stream]+1, m.now+time.Duration(m.random.Int64N(int64(maxDelay))))
	m.arrived[stream] = at
	return at
}

func (m *budgetModel) create(ready time.Duration) {
	m.made++
	m.pods = append(m.pods, modelPod{name: fmt.Sprintf("backend-%d", m.made), from: ready})
}

func (m *budgetModel) tell(p modelPod, at time.Duration, deleting bool) {
	pod := ht.ReadyPod(p.name, "w1", history.Modified)
	pod.Ready, pod.Deleting = p.ready, deleting
	if deleting {
		pod.Disruption = "EvictionByEvictionAPI"
	}
	m.record.Pod(at, pod)
}

func (m *budgetModel) healthy() (n int) {
	for _, p := range m.pods {
		if p.ready {
			n++
		}
	}
	return n
}

// status tells what the budget's status says: the eviction API itself writes that it allows one less.
func (m *budgetModel) status() {
	b := m.budget
	b.CurrentHealthy, b.DesiredHealthy = m.healthy(), m.desired
	b.DisruptionsAllowed = max(0, m.healthy()-m.desired)
	m.record.Budget(m.arrive("budgets"), b)
}

// step lets time pass, and one thing happen.
func (m *budgetModel) step(pause time.Duration) {
	m.now += pause
	for i := range m.pods {
		if p := &m.pods[i]; !p.ready && p.from <= m.now {
			p.ready = true
			m.tell(*p, m.arrive("pods"), false)
			m.status()
		}
	}
	i := m.random.IntN(len(m.pods))
	if m.random.IntN(5) > 0 {
		m.evict(i)
		return
	}
	if p := &m.pods[i]; p.ready { // a probe fails for a while
		p.ready, p.from = false, m.now+time.Duration(m.random.Int64N(int64(m.slow)))
		m.tell(*p, m.arrive("pods"), false)
		m.status()
	}
}

func (m *budgetModel) evict(i int) {
	p, healthy := m.pods[i], m.healthy()
	allowed := healthy > m.desired || !p.ready && healthy >= m.desired
	answer := history.Eviction{Pod: p.name, Accepted: allowed || !m.obeys}
	// Answers come by connections of their own, so that one may overtake another.
	at := m.now + time.Duration(m.random.Int64N(int64(maxDelay)))
	if !answer.Accepted {
		answer.Budget = "backend"
		m.record.Eviction(at, answer)
		return
	}
	m.broken = m.broken || p.ready && healthy-1 < m.desired
	m.record.Eviction(at, answer)
	m.tell(p, m.arrive("pods"), true)
	m.pods = slices.Delete(m.pods, i, i+1)
	m.status()
	m.create(m.now + time.Duration(m.random.Int64N(int64(m.slow))))
	m.tell(m.pods[len(m.pods)-1], m.arrive("pods"), false)
}

// TestBudgetModelObeyed: however the streams are interleaved, an API server that obeys is never accused.
func TestBudgetModelObeyed(t *testing.T) {
	held := 0
	for seed := range uint64(400) {
		m := newBudgetModel(seed, true)
		for range 15 {
			m.step(time.Duration(m.random.Int64N(int64(800 * ms))))
		}
		switch v := judge.Check(m.record.Run(), (invariant.BudgetHonoured{})); v.Outcome {
		case verdict.Violated:
			t.Errorf("seed %d: %s", seed, v.Seen)
		case verdict.Held:
			held++
		}
	}
	if held < 350 {
		t.Errorf("only %d of 400 were held: the model proves little", held)
	}
}

// TestBudgetModelBroken: when what happens lies further apart than the skew, every violation is seen, and nothing else.
func TestBudgetModelBroken(t *testing.T) {
	broken := 0
	for seed := range uint64(400) {
		m := newBudgetModel(seed, false)
		m.slow = 12 * second
		for range 3 {
			m.step(3*second + time.Duration(m.random.Int64N(int64(second))))
		}
		v := judge.Check(m.record.Run(), invariant.BudgetHonoured{})
		if got := v.Outcome == verdict.Violated; got != m.broken {
			t.Errorf("seed %d: broken is %t, and %s: %s", seed, m.broken, v.Outcome, v.Seen)
		}
		if m.broken {
			broken++
		}
	}
	if broken < 50 || broken > 350 {
		t.Errorf("%d of 400 were broken: the model proves little", broken)
	}
}
