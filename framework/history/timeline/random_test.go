package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// TestTimelineAgreesWithReplay compares the timelines of random events with the state that a replay reaches at each moment.
func TestTimelineAgreesWithReplay(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		run := randomRun(rng)
		tl := timeline.New(run.Events)
		for at := history.Offset(0); at <= lastAt+1; at++ {
			agree(t, tl, run.StateAt(at), at)
		}
		for _, p := range tl.Pods {
			inOrder(t, p.Name, p.Spans(lastAt+1))
			began := p.EndBegan() != timeline.Never
			if ended := slices.Contains(tl.Terminations(0, timeline.Never), p); ended != began {
				t.Errorf("seed %d: %s began to end: %t, is a termination: %t", seed, p.UID, began, ended)
			}
		}
		for _, n := range tl.Nodes {
			inOrder(t, n.Name, n.Spans(lastAt+1))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

const lastAt = history.Offset(40)

// randomRun has pods with names and addresses of their own, two nodes, and two EndpointSlices of one Service.
func randomRun(rng *rand.Rand) history.Run {
	b := historytest.New()
	phases := []string{"Pending", "Running", "Running", "Running", "Failed", "Succeeded"}
	changes := []history.Change{history.Listed, history.Added, history.Modified, history.Modified, history.Deleted}
	for range 60 {
		at := history.Offset(rng.Int64N(int64(lastAt)))
		name := fmt.Sprintf("p%d", rng.IntN(4))
		switch rng.IntN(4) {
		case 0, 1:
			b.Pod(at, history.Pod{
				Change: changes[rng.IntN(len(changes))], Name: name, UID: "uid-" + name, IP: "10.0.0." + name[1:],
				Phase: phases[rng.IntN(len(phases))], Ready: rng.IntN(2) == 0, Deleting: rng.IntN(4) == 0, Restarts: rng.IntN(3),
			})
		case 2:
			b.Node(at, history.Node{
				Change: changes[rng.IntN(len(changes))], Name: fmt.Sprintf("w%d", rng.IntN(2)), Ready: []string{"True", "False", "Unknown"}[rng.IntN(3)],
				Unschedulable: rng.IntN(4) == 0,
			})
		default:
			slice := history.Slice{Change: changes[rng.IntN(len(changes))], Name: fmt.Sprintf("s%d", rng.IntN(2)), Service: "web"}
			for i := range 4 {
				if rng.IntN(2) == 0 {
					slice.Endpoints = append(slice.Endpoints, history.Endpoint{
						Pod: fmt.Sprintf("p%d", i), IP: fmt.Sprintf("10.0.0.%d", i), Ready: rng.IntN(2) == 0, Serving: rng.IntN(2) == 0,
					})
				}
			}
			b.Slice(at, slice)
		}
	}
	return b.Run()
}

func agree(t *testing.T, tl *timeline.Timeline, state *history.State, at history.Offset) {
	t.Helper()
	for _, p := range tl.Pods {
		seen, ok := p.Reports.At(at)
		now, exists := state.Pods[p.UID]
		if ok = ok && seen.Change != history.Deleted; ok != exists || ok && (seen.Phase != now.Phase || seen.Ready != now.Ready || seen.Deleting != now.Deleting) {
			t.Errorf("at %d, %s is %+v, and the replay has %+v", at, p.UID, seen, now)
		}
		want := ""
		switch {
		case !exists || now.Ended():
		case now.Deleting:
			want = "terminating"
		case now.Ready:
			want = "ready"
		default:
			want = "unready"
		}
		got := string(stateAt(p.Spans(lastAt+2), at))
		if got == "starting" {
			got = "unready"
		}
		if got != want {
			t.Errorf("at %d, %s is %q, want %q", at, p.UID, got, want)
		}
		if p.Seen() > at {
			continue // an endpoint of a pod that was not reported yet belongs to no pod
		}
		endpoint, _ := p.Endpoints["web"].At(at)
		if served := servedBy(state, p.Name); endpoint.Ready && !served.Ready || endpoint.Serving && !served.Serving {
			t.Errorf("at %d, the endpoint of %s is %+v, and the replay has %+v", at, p.Name, endpoint, served)
		}
	}
	for name, n := range tl.Nodes {
		now, exists := state.Nodes[name]
		if lost := n.Reports[0].At <= at && (!exists || now.Ready != "True"); lost != tl.LostAt(name, at) {
			t.Errorf("at %d, %s is lost: %t", at, name, !lost)
		}
	}
}

// servedBy is how the Service's EndpointSlices together describe a pod.
func servedBy(state *history.State, name string) (e timeline.Endpoint) {
	for _, slice := range state.Slices {
		for _, one := range slice.Endpoints {
			if one.Pod == name {
				e.Ready, e.Serving = e.Ready || one.Ready, e.Serving || one.Serving
			}
		}
	}
	return e
}

func stateAt[S any](list []timeline.Span[S], at history.Offset) (state S) {
	for _, span := range list {
		if span.From <= at && at < span.To {
			state = span.State
		}
	}
	return state
}

// inOrder fails if spans overlap, or if two that touch have the same state.
func inOrder[S comparable](t *testing.T, name string, list []timeline.Span[S]) {
	t.Helper()
	for i, span := range list {
		if span.From > span.To || i > 0 && (list[i-1].To > span.From || list[i-1].To == span.From && list[i-1].State == span.State) {
			t.Errorf("%s has the spans %+v", name, list)
		}
	}
}
