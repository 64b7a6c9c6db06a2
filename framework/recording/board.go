package recording

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
)

// board is a record that knows the present state of the cluster, so that a recording can end when everything has settled.
type board struct {
	*history.Writer
	mu    sync.Mutex
	state *history.State
	gone  int // pods that were deleted
}

func newBoard(w *history.Writer) *board { return &board{Writer: w, state: history.NewState()} }

// Append records an event.
func (b *board) Append(e history.Event) error {
	b.note(e)
	return b.Writer.Append(e)
}

// note takes in what is needed of an event: the state of a recording of thousands of pods must stay small.
func (b *board) note(e history.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case e.Workload != nil, e.Node != nil:
		b.state.Apply(e)
	case e.Pod != nil && e.Pod.Change == history.Deleted:
		b.gone++
	}
}

// unsettled names the workloads that have not settled; none: all have.
func (b *board) unsettled() (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, w := range b.state.Workloads {
		if !w.Settled() {
			names = append(names, fmt.Sprintf("%s/%s (%d of %s available)", key.Namespace, key.Name, w.Available, prose.Count(w.Replicas, "replica")))
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

// ended counts the pods that were deleted so far.
func (b *board) ended() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
}
