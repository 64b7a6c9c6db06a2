package load

import (
	"slices"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/noise"
)

// noises keeps what the worker heard of itself: a sample a second, for a day at most.
type noises struct {
	mu  sync.Mutex
	all []noise.Sample
}

func (n *noises) add(s noise.Sample) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, s)
}

// after lists at most maxListed of the samples that come after the first so many.
func (n *noises) after(first int) []noise.Sample {
	n.mu.Lock()
	defer n.mu.Unlock()
	from := min(max(first, 0), len(n.all))
	return slices.Clone(n.all[from:min(from+maxListed, len(n.all))])
}
