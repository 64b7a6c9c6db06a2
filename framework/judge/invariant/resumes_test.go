package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// stalled is the record of a scheduler that was away from 18 s to 50 s, as was seen. At 19 s the backend is asked for a seventh
// replica, whose pod is made and not bound; at the moment given it is ready. At 70 s the replica is taken back.
func stalled(readyAt history.Offset) *ht.Builder {
	b := ht.New().Phase(history.Provision, 0).Phase(history.Deploy, 2*second).Phase(history.Steady, 10*second)
	b.Phase(history.Disturbed, 15*second).Phase(history.Recovered, 85*second).Phase(history.Drained, 90*second)
	for i, stage := range []history.FaultStage{history.Injecting, history.Seen, history.Lasting, history.Healing, history.Healed} {
		b.Fault([]history.Offset{16 * second, 18 * second, 50 * second, 50 * second, 80 * second}[i],
			history.FaultMark{Name: "kube-scheduler away for 30s", Stage: stage})
	}
	b.Workload(3*second, wanting(6, 6))
	for i, node := range []string{"w1", "w2", "w3", "w4", "w5", "w6"} {
		b.Node(2*second, ht.ReadyNode(node, ht.ZoneOf(node)))
		b.Pod(3*second, ht.ReadyPod([]string{"backend-1", "backend-2", "backend-3", "backend-4", "backend-5", "backend-6"}[i], node, history.Listed))
	}
	names := []string{"backend-1", "backend-2", "backend-3", "backend-4", "backend-5", "backend-6"}
	b.Slice(3*second, offering(names...))
	b.Workload(19*second, wanting(7, 6))
	fresh := ht.ReadyPod("backend-7", "", history.Added)
	fresh.Ready, fresh.Phase, fresh.IP = false, "Pending", ""
	b.Pod(19*second, fresh)
	if readyAt > 0 {
		b.Pod(readyAt, ht.ReadyPod("backend-7", "w1", history.Modified)).Workload(readyAt, wanting(7, 7))
		b.Slice(readyAt, offering(append(names, "backend-7")...))
	}
	return b
}

// wanting is the backend that is to have so many replicas, and has so many.
func wanting(replicas, ready int) history.Workload {
	w := ht.BackendWorkload(ready, replicas)
	w.Replicas, w.Updated = replicas, replicas
	return w
}

// offering is the slice of the Service that has these pods.
func offering(names ...string) history.Slice {
	s := history.Slice{Change: history.Modified, Namespace: ht.Namespace, Name: "backend-1", Service: "backend"}
	for _, name := range names {
		s.Endpoints = append(s.Endpoints, history.Endpoint{Pod: name, Ready: true, Serving: true})
	}
	return s
}

func TestResumes(t *testing.T) {
	within := func(limit history.Offset) invariant.Invariant { return invariant.Resumes{Limit: limit} }

	nothingAsked := func(echoes ...history.Offset) *ht.Builder {
		b := stalled(0).DropEvents(func(e history.Event) bool { return e.T == 19*second })
		fresh := ht.ReadyPod("backend-7", "w1", history.Added)
		b.Pod(53*second, fresh).Workload(53*second, wanting(7, 7))
		b.Slice(53*second, offering("backend-1", "backend-2", "backend-3", "backend-4", "backend-5", "backend-6", "backend-7"))
		for _, at := range echoes {
			b.Event(history.Event{T: at + 100*ms, Echo: &history.Echo{Sent: at, Taken: ms}})
		}
		return b
	}
	samples := func(b *ht.Builder) *ht.Builder { return sampled(b, 2*second, 90*second) }
	inVain := func(b *ht.Builder) *ht.Builder {
		for at := 19 * second; at < 50*second; at += 5 * second {
			b.Event(history.Event{T: at + 5*second, Echo: &history.Echo{Sent: at, Taken: 5 * second, Error: "context deadline exceeded"}})
		}
		return b
	}
	bridged := func(b *ht.Builder) *ht.Builder {
		return b.Gap("pods", 17*second, 51*second).EditEvents(func(e *history.Event) {
			if e.Gap != nil {
				e.Gap.Bridged = true
			}
		})
	}
	checkAll(t, []sample{
		{"stalled, and went on", stalled(53 * second), within(5 * second), verdict.Held, 0},
		{"late", stalled(56 * second), within(5 * second), verdict.Violated, 55 * second},
		{"never", stalled(0), within(5 * second), verdict.Violated, 55 * second},
		{"not watched for as long", stalled(0), within(41 * second), verdict.Unknown, 0},
		{"did not stall", stalled(30 * second), within(5 * second), verdict.Violated, 30 * second},
		{"nothing was asked, and changes were made", nothingAsked(12*second, 30*second, 60*second), within(5 * second), verdict.Unknown, 0},
		{"no change of its own ever came back to the harness", nothingAsked(), within(5 * second), verdict.Unknown, 0},
		{"none came back after the undo", nothingAsked(12 * second), within(5 * second), verdict.Unknown, 0},
		{"none failed, in a record that has those that do", samples(nothingAsked(12*second, 60*second)).DropEvents(func(e history.Event) bool {
			return e.Echo != nil && e.T > 18*second && e.T < 52*second
		}), within(5 * second), verdict.Unknown, 0},
		{"all failed", inVain(samples(nothingAsked()).DropEvents(func(e history.Event) bool {
			return e.Echo != nil && e.T > 18*second && e.T < 52*second
		})), within(5 * second), verdict.Held, 0},
		{"nothing could be asked", nothingAsked(12*second, 60*second), within(5 * second), verdict.Held, 0},
		{"the watches broke off, and missed nothing", bridged(stalled(53 * second)), within(5 * second), verdict.Held, 0},
		{"late news of what did not stall", bridged(stalled(30 * second)), within(5 * second), verdict.Unknown, 0},
	})
}
