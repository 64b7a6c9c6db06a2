package outage

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// standing is whether an outage explains a failure.
type standing int

const (
	disallowed standing = iota // it was sent too late, or it had ended before the outage began
	another                    // it was sent to a pod that no fault affected
	unsure                     // it is allowed only if the victims died as late as they may have
	unordered                  // it is allowed or not within what is known of the clocks
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
		return r.Done < d.from-o.clock || !slices.ContainsFunc(kind.Targets(a), d.hit)
	})
	if len(theirs) == 0 {
		return another
	}
	return within(theirs, o, r)
}

// within reports whether one of the deaths allows a failure.
func within(deaths []*Death, o *Outage, r *history.Request) (best standing) {
	for _, d := range deaths {
		best = max(best, o.after(d, r))
	}
	return best
}

// after reports whether a death allows a failure. The fault is dated by the record's clock, and the death perhaps by an answer to another
// worker, so their times may differ by both errors.
func (o *Outage) after(d *Death, r *history.Request) standing {
	off := 2 * o.clock
	early, late := d.Earliest()+d.limit, d.latest()+d.limit
	if d.until > 0 {
		early, late = d.until, d.until
	}
	switch {
	case r.Done < d.from-o.clock, r.Sent >= late+off: // a request that was in flight when the fault began counts
		return disallowed
	case r.Done < d.from+o.clock:
		return unordered
	case r.Sent < early-off:
		return allowed
	case r.Sent < early+off || r.Sent >= late:
		return unordered
	}
	return unsure
}

// strays reports whether similar failures on new connections cannot be the victims', because no victim had been an endpoint for longer
// than the proxies need to notice. A gateway may use other endpoints. What a recording passes leads to Services that are known.
func (o *Outage) strays(f *evidence.Run, kind attribution.FailureGroup, at history.Offset, like attribution.SimilarFailures) bool {
	timelines, services := attribution.TimelinesOf(f), []string{o.service}
	front := o.fronts[kind.Lane]
	switch {
	case kind.Known() || f.Blind(at):
		return false
	case front != nil && o.recorded:
		services = slices.Concat(front.Entries, front.Backends)
		if like.First.Reused || like.Last.Reused { // the connection may lead to a victim
			return false
		}
	case timelines.Gateways[kind.Lane] || o.service == "":
		return false
	}
	ever := false
	for _, service := range services {
		for _, l := range timelines.Sorted(service) {
			if !o.hit(attribution.PodOn{Pod: l.Name, Node: l.Node}) {
				continue
			}
			ever = true
			if l.OfferedBetween(service, at-evidence.PropagationSlack, at+evidence.WatchSkew, func(o timeline.Endpoint) bool { return o.Ready || o.Serving }) {
				return false
			}
		}
	}
	return ever
}
