package run

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// marks records in the cluster which faults of one scenario are in force, beside those of the scenarios that run at the same time, for a process
// that finds the cluster after this one was killed. The methods of nil do nothing.
type marks struct {
	pool     *pool
	scenario string
}

// marks are those of a scenario.
func (p *pool) marks(scenario string) *marks { return &marks{pool: p, scenario: scenario} }

// set returns once the cluster has the record of the faults.
func (m *marks) set(ctx context.Context, faults string) error {
	if m == nil {
		return nil
	}
	m.pool.marking.Lock()
	defer m.pool.marking.Unlock()
	if m.pool.inForce == nil {
		m.pool.inForce = map[string]string{}
	}
	m.pool.inForce[m.scenario] = faults
	err := m.pool.mark(ctx)
	if err != nil { // then no fault is injected
		delete(m.pool.inForce, m.scenario)
	}
	return err
}

// unmarkLimit bounds clear.
const unmarkLimit = 5 * time.Second

// clear records that the faults of the scenario were reverted. A record that still names them is not wrong for long: the next one replaces it.
func (m *marks) clear(ctx context.Context) {
	if m == nil {
		return
	}
	m.pool.marking.Lock()
	defer m.pool.marking.Unlock()
	delete(m.pool.inForce, m.scenario)
	if len(m.pool.inForce) == 0 {
		m.pool.hold.Unmark()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unmarkLimit)
	defer cancel()
	_ = m.pool.mark(ctx)
}

// mark writes the faults of all scenarios into the cluster.
func (p *pool) mark(ctx context.Context) error {
	var all []string
	for _, scenario := range slices.Sorted(maps.Keys(p.inForce)) {
		all = append(all, scenario+": "+p.inForce[scenario])
	}
	return p.hold.Mark(ctx, strings.Join(all, "; "))
}
