package collect

import (
	"slices"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/history/noise"
)

// noises keeps the worker's noise samples: one a second, for a day at most.
type noises struct {
	mu  sync.Mutex
	all []noise.Sample
}

func (n *noises) add(s noise.Sample) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, s)
}

// after returns at most maxListed samples, without the first so many.
func (n *noises) after(first int) []noise.Sample {
	n.mu.Lock()
	defer n.mu.Unlock()
	from := min(max(first, 0), len(n.all))
	return slices.Clone(n.all[from:min(from+maxListed, len(n.all))])
}
