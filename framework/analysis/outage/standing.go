package outage

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
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
func (o *outage) standing(r *history.Request, kind attribution.FailureGroup, a attribution.Attribution) standing {
	if o == nil {
		return disallowed
	}
	all := within(o.deaths, o, r)
	if all == disallowed || !kind.Known() && !a.Blames() {
		return all
	}
	theirs := slices.DeleteFunc(slices.Clone(o.deaths), func(d *death) bool {
		return r.Done < d.from || !slices.ContainsFunc(kind.Targets(a), d.bit)
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
		case r.Sent < d.Earliest()+o.limit:
			return allowed
		case r.Sent < d.latest()+o.limit:
			best = unsure
		}
	}
	return best
}

// strays tells whether failures of requests that opened a connection cannot be the victims', since no endpoint had led to one for
// longer than the proxies need. A gateway may have endpoints of its own.
func (o *outage) strays(f *evidence.Run, kind attribution.FailureGroup, at history.Offset) bool {
	timelines := attribution.TimelinesOf(f)
	if kind.Known() || timelines.Gateways[kind.Lane] || o.service == "" || f.Blind(at) {
		return false
	}
	ever := false
	for _, l := range timelines.Sorted(o.service) {
		if !o.bit(attribution.PodOn{Pod: l.Name, Node: l.Node}) {
			continue
		}
		ever = true
		if l.OfferedBetween(o.service, at-evidence.PropagationSlack, at+evidence.WatchSkew, func(o timeline.Endpoint) bool { return o.Ready || o.Serving }) {
			return false
		}
	}
	return ever
}

// victims are those whom the service offered at any time.
func (o *outage) victims(f *evidence.Run) (list []attribution.PodOn) {
	for _, l := range attribution.TimelinesOf(f).Sorted(o.service) {
		if p := (attribution.PodOn{Pod: l.Name, Node: l.Node}); o.bit(p) {
			list = append(list, p)
		}
	}
	return list
}
