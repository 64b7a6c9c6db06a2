package recording

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// board is a record that knows the present state of the cluster, so that a recording can end when everything has settled.
type board struct {
	*history.Writer
	mu    sync.Mutex
	state *history.State
	gone  int // pods that were deleted
	// going are the pods that were told to end since the recording began and have not ended, by their UIDs.
	going map[string]history.Pod
	// away are the objects that an earlier recorder knew, until they are listed again; nil: there was none.
	away *history.State
}

func newBoard(w *history.Writer) *board {
	return &board{Writer: w, state: history.NewState(), going: make(map[string]history.Pod)}
}

// Append records an event.
func (b *board) Append(e history.Event) error {
	b.note(e)
	return b.Writer.Append(e)
}

// note takes in what is needed of an event: the state of a recording of thousands of pods must stay small.
func (b *board) note(e history.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away != nil {
		b.away.Apply(gone(e))
	}
	switch {
	case e.Workload != nil, e.Node != nil:
		b.state.Apply(e)
	case e.Pod != nil:
		b.pod(e.Pod)
	}
}

// pod notes whether a pod is ending, or has ended. One that was ending when the recording began may do so for ever.
func (b *board) pod(p *history.Pod) {
	_, known := b.going[p.UID]
	switch {
	case p.Change == history.Deleted, p.Ended():
		delete(b.going, p.UID)
	case p.Deleting && (known || p.Change != history.Listed):
		b.going[p.UID] = history.Pod{Namespace: p.Namespace, Name: p.Name, Node: p.Node}
	}
	if p.Change == history.Deleted {
		b.gone++
	}
}

// unsettled names the workloads that have not settled, and the pods that have not ended, but for those on nodes that are not Ready: their kubelets
// cannot end them. None: all have.
func (b *board) unsettled() (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, w := range b.state.Workloads {
		if !w.Settled() {
			names = append(names, fmt.Sprintf("%s/%s (%d of %s available)", key.Namespace, key.Name, w.Available, prose.Count(w.Replicas, "replica")))
		}
	}
	for _, p := range b.going {
		if n, known := b.state.Nodes[p.Node]; !known || n.Ready == "True" {
			names = append(names, fmt.Sprintf("pod %s/%s (ending)", p.Namespace, p.Name))
		}
	}
	slices.Sort(names)
	return names
}

// counts says how much is watched: "12 workloads, 3 nodes".
func (b *board) counts() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	words := []string{prose.Count(len(b.state.Workloads), "workload")}
	if n := len(b.state.Nodes); n > 0 {
		words = append(words, prose.Count(n, "node"))
	}
	return strings.Join(words, ", ")
}

// gone is an event as that of an object that does not exist any more, without what it says of the object.
func gone(e history.Event) history.Event {
	switch {
	case e.Pod != nil:
		e.Pod = &history.Pod{UID: e.Pod.UID, Change: history.Deleted}
	case e.Node != nil:
		e.Node = &history.Node{Name: e.Node.Name, Change: history.Deleted}
	case e.Workload != nil:
		e.Workload = &history.Workload{Namespace: e.Workload.Namespace, Name: e.Workload.Name, Change: history.Deleted}
	case e.Slice != nil:
		e.Slice = &history.Slice{Namespace: e.Slice.Namespace, Name: e.Slice.Name, Change: history.Deleted}
	case e.Budget != nil:
		e.Budget = &history.Budget{Namespace: e.Budget.Namespace, Name: e.Budget.Name, Change: history.Deleted}
	}
	return e
}

// ended records the end of each object that an earlier recorder knew and that was not listed again. It comes after the first lists. When an object ended
// is not known: the record has a gap until now.
func (b *board) ended() error {
	b.mu.Lock()
	away := b.away
	b.away = nil
	b.mu.Unlock()
	if away == nil {
		return nil
	}
	var events []history.Event
	for _, pod := range away.Pods {
		pod.Change = history.Deleted
		events = append(events, history.Event{Pod: &pod})
	}
	for _, node := range away.Nodes {
		node.Change = history.Deleted
		events = append(events, history.Event{Node: &node})
	}
	for _, w := range away.Workloads {
		w.Change = history.Deleted
		events = append(events, history.Event{Workload: &w})
	}
	for _, s := range away.Slices {
		s.Change = history.Deleted
		events = append(events, history.Event{Slice: &s})
	}
	for _, budget := range away.Budgets {
		budget.Change = history.Deleted
		events = append(events, history.Event{Budget: &budget})
	}
	for _, e := range events {
		e.T = b.Now()
		if err := b.Append(e); err != nil {
			return err
		}
	}
	return nil
}

// podsGone counts the pods that were deleted so far.
func (b *board) podsGone() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
}
