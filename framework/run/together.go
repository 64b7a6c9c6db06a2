package run

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// group is scenarios that run at the same time on one cluster.
type group struct {
	members []scenario.Spec
	mu      sync.Mutex
	clears  []func(context.Context) error // what removes their workloads, once all of them have ended: deleting is noise for the others
}

// groups divides scenarios into those that run at the same time, at most limit of them. Scenarios on the same cluster follow each other. One that
// must run alone is a group of its own.
func groups(specs []scenario.Spec, limit int) (list [][]scenario.Spec) {
	open := -1 // the group that takes the next scenario; -1: none
	for _, s := range byCluster(specs) {
		switch {
		case limit < 2 || s.Alone() != "":
			list = append(list, []scenario.Spec{s})
		case open >= 0 && len(list[open]) < limit && sameCluster(list[open][0].Cluster, s.Cluster):
			list[open] = append(list[open], s)
		default:
			open = len(list)
			list = append(list, []scenario.Spec{s})
		}
	}
	return list
}

// beside are the names of the others in the group of a scenario.
func (g *group) beside(name string) (names []string) {
	for _, s := range g.members {
		if s.Name != name {
			names = append(names, s.Name)
		}
	}
	return names
}

// alone reports whether nothing runs at the same time.
func (g *group) alone() bool { return len(g.members) == 1 }

func (g *group) clearLater(clear func(context.Context) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clears = append(g.clears, clear)
}

// clear removes the workloads of all members.
func (g *group) clear(ctx context.Context) error {
	errs := make([]error, len(g.clears))
	var all sync.WaitGroup
	for i, clear := range g.clears {
		all.Go(func() {
			defer noPanic(&errs[i])
			errs[i] = clear(ctx)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// together runs scenarios at the same time, and keeps their results, which have the scenarios' order. After a panic of one, the others end, and
// together panics with it: who began the run gives its clusters back even so.
func (r *runner) together(ctx context.Context, some []scenario.Spec) []result {
	g := &group{members: some}
	results, panics := make([]result, len(some)), make([]error, len(some))
	var all sync.WaitGroup
	for i, s := range some {
		all.Go(func() {
			defer noPanic(&panics[i])
			results[i] = (&attempt{runner: r, group: g}).run(ctx, s)
		})
	}
	all.Wait()
	if len(g.clears) > 0 {
		r.giveBack(ctx, cleanLimit, g.clear)
	}
	if err := errors.Join(panics...); err != nil {
		panic(err)
	}
	return results
}
