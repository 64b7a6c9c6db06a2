package outage

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// standing is whether an outage explains a failure.
type standing int

const (
	disallowed standing = iota // it was sent too late, or it had ended before the outage began
	another                    // it was sent to a pod that no fault affected
	unsure                     // it is allowed only if the victims died as late as they may have
	allowed
)

// standing of a failure in a group. If its target is known, only the death of that target allows it.
func (o *Outage) standing(r *history.Request, kind attribution.FailureGroup, a attribution.Attribution) standing {
	if o == nil {
		return disallowed
	}
	all := within(o.deaths, o, r)
	if all == disallowed || !kind.Known() && !a.Blames() {
		return all
	}
	theirs := slices.DeleteFunc(slices.Clone(o.deaths), func(d *Death) bool {
		return r.Done < d.from || !slices.ContainsFunc(kind.Targets(a), d.hit)
	})
	if len(theirs) == 0 {
		return another
	}
	return within(theirs, o, r)
}

// within reports whether one of the deaths allows a failure.
func within(deaths []*Death, o *Outage, r *history.Request) (best standing) {
	for _, d := range deaths {
		switch {
		case r.Done < d.from: // a request that was in flight when the fault began counts
		case r.Sent < d.Earliest()+o.limit:
			return allowed
		case r.Sent < d.latest()+o.limit:
			best = unsure
		}
	}
	return best
}

// strays reports whether failures on new connections cannot be the victims', because no victim had been an endpoint for longer
// than the proxies need to notice. A gateway may use other endpoints.
func (o *Outage) strays(f *evidence.Run, kind attribution.FailureGroup, at history.Offset) bool {
	timelines := attribution.TimelinesOf(f)
	if kind.Known() || timelines.Gateways[kind.Lane] || o.service == "" || f.Blind(at) {
		return false
	}
	ever := false
	for _, l := range timelines.Sorted(o.service) {
		if !o.hit(attribution.PodOn{Pod: l.Name, Node: l.Node}) {
			continue
		}
		ever = true
		if l.OfferedBetween(o.service, at-evidence.PropagationSlack, at+evidence.WatchSkew, func(o timeline.Endpoint) bool { return o.Ready || o.Serving }) {
			return false
		}
	}
	return ever
}

// victims returns the victims that were endpoints of the service at any time.
func (o *Outage) victims(f *evidence.Run) (list []attribution.PodOn) {
	for _, l := range attribution.TimelinesOf(f).Sorted(o.service) {
		if p := (attribution.PodOn{Pod: l.Name, Node: l.Node}); o.hit(p) {
			list = append(list, p)
		}
	}
	return list
}
