package gateway

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

// pool is the set of upstreams. They are used round-robin.
type pool struct {
	health   Health
	ejection Ejection

	mu      sync.Mutex
	members []*upstream
	turn    int
	known   bool // set was called at least once
}

// set replaces the addresses. An upstream whose address stays keeps its state.
func (p *pool) set(addresses []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = true
	var members []*upstream
	for _, a := range slices.Compact(slices.Sorted(slices.Values(addresses))) {
		at := slices.IndexFunc(p.members, func(u *upstream) bool { return u.address == a })
		if at >= 0 {
			members = append(members, p.members[at])
		} else {
			members = append(members, &upstream{address: a})
		}
	}
	if len(members) != len(p.members) {
		slog.Info("upstreams", "count", len(members), "before", len(p.members))
	}
	p.members = members
}

// ready returns true once the set of upstreams is known, even if it is empty.
func (p *pool) ready() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}

// pick chooses an upstream for a request that has failed at the upstreams in tried. Usable upstreams that have not been
// tried take turns. If there is none, pick chooses, preferably among the usable upstreams, the one with the fewest failures
// since its last success: a health check may be wrong, and the next connection through a node port may reach a healthy pod.
// It returns nil if there is no upstream at all.
func (p *pool) pick(tried []*upstream) *upstream {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	usable := func(u *upstream) bool { return u.usable(now) }
	u := p.next(func(u *upstream) bool { return usable(u) && !slices.Contains(tried, u) })
	if u == nil {
		u = p.best(usable)
	}
	if u == nil {
		u = p.best(func(*upstream) bool { return true })
	}
	if u != nil {
		u.tries++
	}
	return u
}

// next is the next good upstream in turn. Each round starts one upstream later than the previous round. Otherwise clients
// that alternate, such as two lanes with the same rate, would each always meet the same upstreams.
func (p *pool) next(good func(*upstream) bool) *upstream {
	n := len(p.members)
	for i := range n {
		u := p.members[(p.turn%n+p.turn/n+i)%n]
		if good(u) {
			p.turn++
			return u
		}
	}
	return nil
}

// best is the good upstream with the fewest consecutive failures.
func (p *pool) best(good func(*upstream) bool) *upstream {
	var best *upstream
	for _, u := range p.members {
		if good(u) && (best == nil || u.bad < best.bad) {
			best = u
		}
	}
	return best
}

// answered records the result of a request to an upstream.
func (p *pool) answered(u *upstream, well bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.answered(well, p.ejection, time.Now()) {
		slog.Info("upstream ejected", "upstream", u.address, "for", p.ejection.For)
	}
}

// checked records the result of a health check of an upstream.
func (p *pool) checked(u *upstream, well bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.checked(well, p.health) {
		slog.Info("upstream's health changed", "upstream", u.address, "healthy", well)
	}
}

func (p *pool) snapshot() []*upstream {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.members)
}

// stats are the upstreams' counters, in the order of their addresses.
func (p *pool) stats() []UpstreamStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]UpstreamStats, 0, len(p.members))
	now := time.Now()
	for _, u := range p.members {
		all = append(all, UpstreamStats{
			Address: u.address, Healthy: !u.unhealthy, Ejected: now.Before(u.ejected), Tries: u.tries, Failed: u.failed,
		})
	}
	return all
}
