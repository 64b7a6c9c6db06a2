package invariant_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// spreadModel is a workload over nodes of any kind, placed at random: a scheduler that knows no rule.
type spreadModel struct {
	random *rand.Rand
	record *ht.Builder
	now    history.Offset
	pause  history.Offset // the shortest time between two things that happen
	delay  history.Offset // the longest that a stream takes to tell of one

	nodes   map[string]history.Node
	pods    map[string]history.Pod
	status  history.Workload
	made    int
	arrived map[string]history.Offset // what each stream told of last

	settled []settledState // in order, each other than the one before
}

// settledState is what the promise is about, counted by hand.
type settledState struct {
	replicas, outside int
	counts            map[string]int
	closed            string // nodes left out, by name
	revisions         string
}

func (s settledState) skew() int {
	counts := slices.Collect(maps.Values(s.counts))
	if len(counts) == 0 {
		return 0
	}
	return slices.Max(counts) - slices.Min(counts)
}

func newSpreadModel(seed uint64, pause, delay history.Offset) *spreadModel {
	m := &spreadModel{
		random: rand.New(rand.NewPCG(seed, 13)), now: 3 * second, pause: pause, delay: delay,
		nodes: make(map[string]history.Node), pods: make(map[string]history.Pod), arrived: make(map[string]history.Offset),
		record: newStepped().DropEvents(func(e history.Event) bool { return e.Node != nil }),
	}
	m.status = ht.BackendWorkload(0, 0)
	m.status.Replicas, m.status.Updated, m.status.Total = 0, 0, 0
	if m.random.IntN(3) == 0 {
		m.status.NodeSelector = map[string]string{"pool": "a"}
	}
	for i := range 3 + m.random.IntN(5) {
		n := ht.ReadyNode(fmt.Sprintf("w%d", i+1), string(rune('a'+m.random.IntN(3))))
		if m.random.IntN(8) > 0 {
			n.Labels["pool"] = "a"
		}
		switch m.random.IntN(12) {
		case 0:
			delete(n.Labels, ht.ZoneLabel)
		case 1:
			n.Taints = []string{"gpu=yes:NoSchedule"}
		case 2:
			n.Taints = []string{"soft=yes:PreferNoSchedule"}
		}
		m.nodes[n.Name] = n
		m.record.Node(2*second, n)
	}
	return m
}

// tell is when a stream tells of what happens now, never before what it told of earlier.
func (m *spreadModel) tell(stream string) history.Offset {
	at := m.now
	if m.delay > 0 {
		at += history.Offset(m.random.Int64N(int64(m.delay)))
	}
	m.arrived[stream] = max(m.arrived[stream], at)
	return m.arrived[stream]
}

// done looks at what is, and lets time pass.
func (m *spreadModel) done() {
	if s, ok := m.look(); ok {
		if n := len(m.settled); n == 0 || !s.same(m.settled[n-1]) {
			m.settled = append(m.settled, s)
		}
	}
	m.now += m.pause + history.Offset(m.random.Int64N(int64(100*ms)))
}

func (s settledState) same(other settledState) bool {
	return s.replicas == other.replicas && s.outside == other.outside && maps.Equal(s.counts, other.counts) &&
		s.closed == other.closed && s.revisions == other.revisions
}

// look counts the pods of a settled workload by zone.
func (m *spreadModel) look() (s settledState, ok bool) {
	if !m.status.Settled() || len(m.pods) != m.status.Replicas {
		return s, false
	}
	s = settledState{replicas: m.status.Replicas, counts: make(map[string]int)}
	on := make(map[string]int)
	revisions := make(map[string]bool)
	for _, p := range m.pods {
		if !p.Ready || p.Deleting {
			return s, false
		}
		on[p.Node]++
		revisions[p.Labels[ht.RevisionLabel]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		n := m.nodes[name]
		zone := n.Labels[ht.ZoneLabel]
		fits := zone != "" && (m.status.NodeSelector == nil || n.Labels["pool"] == "a")
		hard := slices.Contains(n.Taints, "gpu=yes:NoSchedule")
		open := n.Ready == "True" && !n.Unschedulable && !hard
		switch {
		case !fits:
			s.outside += on[name]
		case open || on[name] > 0:
			s.counts[zone] += on[name]
		case n.Ready != "True" || n.Unschedulable:
			s.closed += name + n.Ready + " "
		}
	}
	s.revisions = fmt.Sprint(slices.Sorted(maps.Keys(revisions)))
	return s, true
}

// step asks for a number of replicas of a revision, and places what is missing at random.
func (m *spreadModel) step(replicas int, revision string, openOnly bool) {
	m.status.Replicas, m.status.Observed = replicas, false
	m.record.Workload(m.tell("workloads"), m.status)
	m.done()
	for _, name := range slices.Sorted(maps.Keys(m.pods)) {
		if p := m.pods[name]; len(m.pods) > replicas || p.Labels[ht.RevisionLabel] != revision {
			p.Change, p.Deleting = history.Modified, true
			m.record.Pod(m.tell("pods"), p)
			p.Change = history.Deleted
			m.record.Pod(m.tell("pods"), p)
			delete(m.pods, name)
		}
	}
	m.done()
	for len(m.pods) < replicas {
		m.made++
		p := ht.ReadyPod(fmt.Sprintf("backend-%03d", m.made), m.anyNode(openOnly), history.Added)
		p.Labels[ht.RevisionLabel], p.Ready = revision, false
		m.record.Pod(m.tell("pods"), p)
		p.Change, p.Ready = history.Modified, true
		m.record.Pod(m.tell("pods"), p)
		m.pods[p.Name] = p
	}
	m.done()
	m.status.Updated, m.status.Available, m.status.Total, m.status.Observed = replicas, replicas, replicas, true
	m.record.Workload(m.tell("workloads"), m.status)
	m.done()
}

func (m *spreadModel) anyNode(openOnly bool) string {
	names := slices.Sorted(maps.Keys(m.nodes))
	if openOnly {
		names = slices.DeleteFunc(names, func(name string) bool {
			n := m.nodes[name]
			return n.Labels[ht.ZoneLabel] == "" || m.status.NodeSelector != nil && n.Labels["pool"] != "a"
		})
	}
	if len(names) == 0 {
		return "w1"
	}
	return names[m.random.IntN(len(names))]
}

// turn has a node be lost, cordoned, or usable again.
func (m *spreadModel) turn() {
	name := m.anyNode(false)
	n := m.nodes[name]
	n.Change = history.Modified
	switch {
	case n.Ready != "True":
		n.Ready = "True"
	case n.Unschedulable:
		n.Unschedulable = false
	case m.random.IntN(2) == 0:
		n.Ready = "Unknown"
	default:
		n.Unschedulable = true
	}
	m.nodes[name] = n
	m.record.Node(m.tell("nodes"), n)
	m.done()
}

// play goes through some steps, beginning with no replicas.
func (m *spreadModel) play(steps int, nodesChange bool) history.Run {
	openOnly := m.random.IntN(3) > 0
	m.record.Workload(m.tell("workloads"), m.status)
	m.done()
	for i := range steps {
		if nodesChange && m.random.IntN(2) == 0 {
			m.turn()
		}
		m.step(m.random.IntN(7), fmt.Sprintf("rev%d", m.random.IntN(2)*i), openOnly)
	}
	return m.record.Run()
}

// judge restates the promise. A workload that is seen settled at every step, as a model's is, has the rest of the
// evidence, too.
func (m *spreadModel) judge(allowed int) (want verdict.Outcome, largest, bad int) {
	most := 0
	blank := false
	for _, s := range m.settled {
		largest, most = max(largest, s.skew()), max(most, s.replicas)
		if s.skew() > allowed {
			bad++
		}
		blank = blank || s.replicas > 0 && len(s.counts) < 2 || s.outside > 0
	}
	switch {
	case bad > 0:
		return verdict.Violated, largest, bad
	case blank || most == 0:
		return verdict.Unknown, largest, bad
	}
	return verdict.Held, largest, bad
}

func playSpread(t *testing.T, pause, delay history.Offset, nodesChange bool) {
	t.Helper()
	const runs = 1000
	seen := make(map[verdict.Outcome]int)
	for seed := range uint64(runs) {
		m := newSpreadModel(seed, pause, delay)
		run := m.play(1+m.random.IntN(4), nodesChange)
		allowed := m.random.IntN(4)
		want, largest, bad := m.judge(allowed)
		got := judge.Check(run, invariant.Spread{TopologyKey: ht.ZoneLabel, Max: allowed})
		if got.Outcome != want || got.Numbers["largestSkew"] != float64(largest) || got.Numbers["badStates"] != float64(bad) ||
			got.Numbers["settledStates"] != float64(len(m.settled)) {
			t.Errorf("seed %d: %s, largest skew %v, %v of %v states bad; want %s, %d, %d of %d: %s %q", seed, got.Outcome,
				got.Numbers["largestSkew"], got.Numbers["badStates"], got.Numbers["settledStates"], want, largest, bad, len(m.settled), got.Seen, got.Evidence)
		}
		seen[got.Outcome]++
	}
	for _, o := range []verdict.Outcome{verdict.Held, verdict.Violated, verdict.Unknown} {
		if seen[o] < runs/10 {
			t.Errorf("only %d of %d were %s: the model proves little", seen[o], runs, o)
		}
	}
}

// TestSpreadModel places pods at random, over nodes that come and go, and counts them again in the plainest way.
func TestSpreadModel(t *testing.T) { playSpread(t, 1500*ms, 0, true) }

// TestSpreadModelSkewed tells of the pods and of the Deployment by streams that are late, each by a time of its own: no
// settled state is missed, and none is made up.
func TestSpreadModelSkewed(t *testing.T) { playSpread(t, 1200*ms, 900*ms, false) }
