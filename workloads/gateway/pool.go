package gateway

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

// pool is the set of upstreams, which take turns.
type pool struct {
	health   Health
	ejection Ejection

	mu      sync.Mutex
	members []*upstream
	turn    int
	known   bool // set was called
}

// set replaces the addresses. An upstream that stays keeps what is known of it.
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

// ready tells whether the upstreams are known, be it that there are none.
func (p *pool) ready() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}

// pick chooses an upstream for a request that was tried at these in vain. Those that are usable and untried take turns.
// When there is none left it is, of the usable ones if there are any, the one that failed least since it was last well:
// a check may be wrong, and the next connection through a node port may lead to a pod that lives. It returns nil when
// there is no upstream at all.
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

// next is the first good upstream from the one whose turn it is. Each round begins one upstream further than the one
// before: otherwise clients that take turns too, such as two lanes of the same rate, would each meet the same upstreams.
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

// best is the good upstream with the fewest failures in a row.
func (p *pool) best(good func(*upstream) bool) *upstream {
	var best *upstream
	for _, u := range p.members {
		if good(u) && (best == nil || u.bad < best.bad) {
			best = u
		}
	}
	return best
}

// answered takes the result of a request to an upstream.
func (p *pool) answered(u *upstream, well bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.answered(well, p.ejection, time.Now()) {
		slog.Info("upstream ejected", "upstream", u.address, "for", p.ejection.For)
	}
}

// checked takes the result of a health check of an upstream.
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

// stats of the upstreams, by address.
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
