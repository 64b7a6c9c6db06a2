package invariant

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// standing is what an outage says of a failure.
type standing int

const (
	disallowed standing = iota // it was sent too late, or it had ended before the outage began
	another                    // a pod that no fault had bitten
	unsure                     // it is allowed only if the victims died as late as they may have
	allowed
)

// standing of a failure of a kind. Where it is known whom it was sent to, the death of nobody else allows it.
func (o *outage) standing(r *history.Request, kind shot, a Attribution) standing {
	if o == nil {
		return disallowed
	}
	all := within(o.deaths, o, r)
	if all == disallowed || !kind.known() && !a.blames() {
		return all
	}
	theirs := slices.DeleteFunc(slices.Clone(o.deaths), func(d *death) bool {
		return r.Done < d.from || !slices.ContainsFunc(kind.targets(a), d.bit)
	})
	if len(theirs) == 0 {
		return another
	}
	return within(theirs, o, r)
}

// within tells whether one of the deaths allows a failure.
func within(deaths []*death, o *outage, r *history.Request) (best standing) {
	for _, d := range deaths {
		switch {
		case r.Done < d.from: // what was in flight when it began is the victims' too
		case r.Sent < d.earliest()+o.limit:
			return allowed
		case r.Sent < d.latest()+o.limit:
			best = unsure
		}
	}
	return best
}

// strays tells whether failures of requests that opened a connection cannot be the victims', since no endpoint had led to one for
// longer than the proxies need. A gateway may have endpoints of its own.
func (o *outage) strays(f *facts, kind shot, at history.Offset) bool {
	lives := livesOf(f)
	if kind.known() || lives.gateways[kind.lane] || o.service == "" || f.blind(at) {
		return false
	}
	ever := false
	for _, l := range lives.sorted(o.service) {
		if !o.bit(podOn{pod: l.name, node: l.node}) {
			continue
		}
		ever = true
		if l.offeredBetween(o.service, at-PropagationSlack, at+watchSkew, func(o offer) bool { return o.ready || o.serving }) {
			return false
		}
	}
	return ever
}

// victims are those whom the service offered at any time.
func (o *outage) victims(f *facts) (list []podOn) {
	for _, l := range livesOf(f).sorted(o.service) {
		if p := (podOn{pod: l.name, node: l.node}); o.bit(p) {
			list = append(list, p)
		}
	}
	return list
}
