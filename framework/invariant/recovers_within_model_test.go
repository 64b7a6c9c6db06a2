package invariant_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// recoveryModel is a workload of three replicas that is disturbed in every way there is, one thing a moment, and most
// often set right in the end.
type recoveryModel struct {
	random *rand.Rand
	record *ht.Builder
	now    history.Offset

	pods    []recoveringPod
	made    int
	status  history.Workload
	offered []string // by the Service of the workload

	good []goodSince // after each moment: whether all was well
}

type recoveringPod struct {
	name, phase         string
	ready, going, bound bool
}

type goodSince struct {
	at history.Offset
	is bool
}

func newRecoveryModel(seed uint64) *recoveryModel {
	m := &recoveryModel{random: rand.New(rand.NewPCG(seed, 11)), record: newStepped().Builder, now: 3 * second}
	m.record.DropEvents(func(e history.Event) bool { return e.Fault != nil })
	m.status = ht.BackendWorkload(3, 3)
	m.status.Replicas, m.status.Updated = 3, 3
	for range 3 {
		m.add()
	}
	m.setRight()
	return m
}

// note remembers how it is after what happened now, in the promise's own words.
func (m *recoveryModel) note() {
	s := m.status
	ready, bad := []string{}, s.Replicas != s.Updated || s.Replicas != s.Available || s.Replicas != s.Total || !s.Observed
	there := 0
	for _, p := range m.pods {
		if p.phase == "Failed" {
			continue
		}
		there++
		bad = bad || !p.ready || p.going || !p.bound
		if p.ready && !p.going {
			ready = append(ready, p.name)
		}
	}
	slices.Sort(ready)
	bad = bad || there != s.Replicas || !slices.Equal(ready, slices.Compact(slices.Sorted(slices.Values(m.offered))))
	m.good = append(m.good, goodSince{m.now, !bad})
}

func (m *recoveryModel) add() {
	m.made++
	m.pods = append(m.pods, recoveringPod{name: fmt.Sprintf("backend-%d", m.made), phase: "Running"})
	m.tell(len(m.pods)-1, history.Added)
}

func (m *recoveryModel) tell(i int, change history.Change) {
	p := m.pods[i]
	pod := ht.ReadyPod(p.name, "w1", change)
	pod.Ready, pod.Deleting, pod.Phase = p.ready, p.going, p.phase
	if !p.bound {
		pod.Node = ""
	}
	m.record.Pod(m.now, pod)
}

func (m *recoveryModel) tellSlice() {
	s := history.Slice{Name: "backend-1", Service: "backend"}
	for _, name := range m.offered {
		s.Endpoints = append(s.Endpoints, history.Endpoint{Pod: name, Ready: true})
	}
	s.Endpoints = append(s.Endpoints, history.Endpoint{Pod: "backend-0"}) // which is not ready, and never counts
	m.record.Slice(m.now, s)
}

// setRight does all that is left to do, in random order, one thing a moment.
func (m *recoveryModel) setRight() {
	for i := len(m.pods) - 1; i >= 0; i-- {
		if m.pods[i].phase == "Failed" || m.pods[i].going || len(m.pods) > 3 {
			m.tell(i, history.Deleted)
			m.pods = slices.Delete(m.pods, i, i+1)
			m.note()
			m.pass(second)
		}
	}
	for len(m.pods) < 3 {
		m.add()
		m.note()
		m.pass(second)
	}
	steps := []func(){
		func() {
			for i := range m.pods {
				m.pods[i].ready, m.pods[i].bound = true, true
				m.tell(i, history.Modified)
			}
		},
		func() {
			m.status = ht.BackendWorkload(3, 3)
			m.status.Replicas, m.status.Updated = 3, 3
			m.record.Workload(m.now, m.status)
		},
		func() {
			m.offered = nil
			for _, p := range m.pods {
				m.offered = append(m.offered, p.name)
			}
			m.tellSlice()
		},
	}
	m.random.Shuffle(len(steps), func(a, b int) { steps[a], steps[b] = steps[b], steps[a] })
	for _, step := range steps {
		step()
		m.note()
		m.pass(second)
	}
}

func (m *recoveryModel) pass(most history.Offset) {
	m.now += 1 + history.Offset(m.random.Int64N(int64(most)))
}

// disturb does one thing.
func (m *recoveryModel) disturb() {
	i := 0
	if len(m.pods) > 0 {
		i = m.random.IntN(len(m.pods))
	}
	switch n := m.random.IntN(8); {
	case n == 0:
		m.add()
	case n == 1:
		m.status.Available = m.random.IntN(4)
		m.status.Observed = m.random.IntN(3) > 0
		m.record.Workload(m.now, m.status)
	case n == 2:
		m.offered = m.offered[:m.random.IntN(len(m.offered)+1)]
		m.tellSlice()
	case len(m.pods) == 0:
	case n == 3:
		m.pods[i].going = true
		m.tell(i, history.Modified)
	case n == 4:
		m.tell(i, history.Deleted)
		m.pods = slices.Delete(m.pods, i, i+1)
	case n == 5:
		m.pods[i].phase, m.pods[i].ready = "Failed", false
		m.tell(i, history.Modified)
	default:
		m.pods[i].ready = !m.pods[i].ready
		m.tell(i, history.Modified)
	}
	m.note()
	m.pass(2 * second)
}

// fault marks when the disturbing began and when its undo did.
func (m *recoveryModel) fault(from, undo, healed history.Offset) {
	for stage, at := range map[history.FaultStage]history.Offset{
		history.Injecting: from, history.Seen: from, history.Healing: undo, history.Healed: healed,
	} {
		m.record.Fault(at, history.FaultMark{Name: "disturb", Stage: stage})
	}
}

// judge restates the promise.
func (m *recoveryModel) judge(from, undo, healed, limit, end history.Offset) (want verdict.Outcome, at history.Offset) {
	disturbed, lastBad := false, -1
	for i, g := range m.good {
		if g.at >= end {
			break
		}
		if !g.is {
			lastBad = i
			disturbed = disturbed || g.at >= from && g.at <= healed
		}
	}
	seenAll := lastBad+1 < len(m.good) && m.good[lastBad+1].at < end
	switch {
	case !seenAll && end-undo < limit:
		return verdict.Unknown, 0
	case !seenAll || m.good[lastBad+1].at-undo > limit:
		return verdict.Violated, undo + limit
	case !disturbed:
		return verdict.Unknown, 0
	}
	return verdict.Held, 0
}

// TestRecoversWithinModel disturbs a workload at random, and asks after each moment whether all was well.
func TestRecoversWithinModel(t *testing.T) {
	const end = 50 * second // of Recovered, see below
	seen := make(map[verdict.Outcome]int)
	for seed := range uint64(1500) {
		m := newRecoveryModel(seed)
		m.now = 12 * second
		from := m.now + history.Offset(m.random.Int64N(int64(2*second))) - second
		for range m.random.IntN(12) {
			m.disturb()
		}
		undo := max(from+second, m.now-history.Offset(m.random.Int64N(int64(8*second))))
		if m.random.IntN(4) > 0 {
			m.setRight()
		}
		healed := max(undo, m.now)
		m.fault(from, undo, healed)
		m.record.EditEvents(func(e *history.Event) {
			if e.Phase != nil && e.Phase.Name == history.Recovered {
				e.T = max(healed, 12*second)
			}
			if e.Phase != nil && e.Phase.Name == history.Drained {
				e.T = end
			}
		})
		if m.random.IntN(4) == 0 { // what happens after the end does not count
			m.now = end + history.Offset(m.random.Int64N(int64(second)))
			m.disturb()
		}
		limit := history.Offset(m.random.Int64N(int64(10 * second)))
		if m.random.IntN(8) == 0 {
			limit = 40 * second // longer than is watched
		}
		want, at := m.judge(from, undo, healed, limit, end)
		got := judge.Check(m.record.Run(), invariant.RecoversWithin{Limit: limit})
		if got.Outcome != want || got.At != at {
			t.Errorf("seed %d: %s at %s, want %s at %s: %s %q", seed, got.Outcome, got.At, want, at, got.Seen, got.Evidence)
		}
		seen[got.Outcome]++
	}
	for _, o := range []verdict.Outcome{verdict.Held, verdict.Violated, verdict.Unknown} {
		if seen[o] < 100 {
			t.Errorf("only %d of 1500 were %s: the model proves little", seen[o], o)
		}
	}
}
