package outage

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

const (
	// outageStep is how finely requests are counted during an outage: the time between two requests of a usual lane.
	outageStep = 10 * time.Millisecond
	// maxOutage bounds the memory. No cluster takes an hour to notice a lost node.
	maxOutage = time.Hour
	// Chance is how unlikely a number of failures must be under the victims' share before it counts as too many: one-sided,
	// 99.9 %.
	Chance = 0.001
)

// Outage is a time in which failures are allowed, from a fault's beginning to the predicted end. Outages that overlap are joined
// into one, with the victims of all their faults. Pods that end, or whose containers are restarted, on a node that stays are an outage each: see ofPods.
type Outage struct {
	name     string         // of the fault, or faults
	From, To history.Offset // requests sent from To on must not fail, whenever the victims died
	clock    history.Offset // how far the times of requests may be off
	deaths   []*Death

	service string  // with endpoints on the victims; empty: unknown
	share   float64 // of its ready endpoints just before, on the victims
	missed  bool    // it had none on them as far as is recorded, so that no request met a victim
	met     bool    // a victim answered nevertheless
	Words   string  // the share in words
	doubts  verdict.Missing

	lanes  []*outageLane
	fronts map[history.Lane]*history.Front
	// recorded: the victims were not chosen, so that a share of 1 is no wrong choice, but proves nothing.
	recorded bool
}

// Outages returns an outage for each fault that was seen to take effect, of the limit of a lost node or, in a recording, that of other pods, and joins those
// that overlap. What takes pods away in an orderly way is no outage. Requests on the lanes, of which none means all, go to the service. Empty means the one that the lanes
// name, or else the only service that had endpoints on the victims.
func Outages(f *evidence.Run, limit, ofOthers time.Duration, service string, lanes []history.Lane) (list []*Outage) {
	doors := []string{service}
	if service == "" {
		doors = doorsOf(f.Record, lanes)
	}
	recorded := f.Record.Header.Recorded != nil
	for _, fault := range f.Faults {
		if !fault.Injecting.OK || !fault.Seen.OK || fault.Voluntary {
			continue
		}
		if recorded && len(fault.Nodes) == 0 {
			list = append(list, ofPods(f, &fault, min(ofOthers, maxOutage))...)
			continue
		}
		d := &Death{name: fault.Name, from: fault.Injecting.At, limit: min(limit, maxOutage), healing: fault.Healing, nodes: fault.Nodes, pods: fault.Pods}
		if recorded {
			d.healing = history.Moment{} // nobody reverted it to end the failures
		}
		o := &Outage{name: d.name, From: d.from, deaths: []*Death{d}, clock: f.ClockError()}
		// A damaged record may have any moment, and memory must stay bounded.
		d.seen = min(max(fault.Seen.At, o.From), o.From+maxOutage)
		o.To = d.seen + d.limit
		if d.seen != fault.Seen.At {
			o.doubts.Add("%s was seen to take effect at %s, which is impossible after %s", o.name, prose.Moment(fault.Seen.At), prose.Moment(o.From))
		}
		list = append(list, o)
	}
	slices.SortStableFunc(list, func(a, b *Outage) int { return cmp.Compare(a.From, b.From) })
	list = join(list)
	for _, o := range list {
		o.fronts, o.recorded = f.Record.Fronts(), recorded
		o.findShare(f, doors, lanes)
	}
	return list
}

func join(list []*Outage) (joined []*Outage) {
	for _, o := range list {
		n := len(joined)
		if n == 0 || o.From >= joined[n-1].To {
			joined = append(joined, o)
			continue
		}
		last := joined[n-1]
		if last.name != o.name {
			last.name += " and " + o.name
		}
		last.To, last.deaths = max(last.To, o.To), append(last.deaths, o.deaths...)
		last.doubts = append(last.doubts, o.doubts...)
	}
	return joined
}

// ends are the ready endpoints of a Service: all, and those on the victims of each group of deaths.
type ends struct {
	all int
	on  []int
}

// victims is the largest number of endpoints that were on victims at a time.
func (e ends) victims() int { return slices.Max(e.on) }

func (e ends) share() float64 { return float64(e.victims()) / float64(e.all) }

// together are the deaths that may explain a failure at one moment, for each moment at which another one joins them. Of a recording, in which pods may end
// one after the other, those that are over do not count any more.
func (o *Outage) together() (groups [][]*Death) {
	if !o.recorded {
		return [][]*Death{o.deaths}
	}
	for _, d := range o.deaths {
		groups = append(groups, slices.DeleteFunc(slices.Clone(o.deaths), func(other *Death) bool {
			over := cmp.Or(other.until, other.seen+other.limit)
			return other.from > d.from || over <= d.from
		}))
	}
	return groups
}

// doorsOf are the Services that requests on some lanes, of which none means all, come to; nil: it is not known of each of them.
func doorsOf(run history.Run, lanes []history.Lane) (doors []string) {
	if run.Header.Plan == nil {
		return nil
	}
	own := run.Services()
	for _, l := range run.Header.Plan.Lanes {
		switch {
		case l.Lane == history.LaneControl, len(lanes) > 0 && !slices.Contains(lanes, l.Lane):
		case l.Front != nil:
			doors = append(doors, slices.Concat(l.Front.Entries, l.Front.Backends)...)
		case own[l.Lane] == "":
			return nil
		default:
			doors = append(doors, own[l.Lane])
		}
	}
	slices.Sort(doors)
	return slices.Compact(doors)
}

// findShare counts the ready endpoints of some Services, of which none means all, on the victims just before the outage.
func (o *Outage) findShare(f *evidence.Run, doors []string, lanes []history.Lane) {
	counts := make(map[string]ends) // by Service
	placed := len(doors) > 0        // it is known of each endpoint whether it is on a victim
	for _, d := range o.deaths {
		placed = placed && len(d.nodes)+len(d.pods) > 0
	}
	offered, groups := 0, o.together()
	for _, slice := range f.Record.StateAt(o.From - 1).Slices {
		if len(doors) > 0 && !slices.Contains(doors, slice.Service) {
			continue
		}
		c, known := counts[slice.Service]
		if !known {
			c.on = make([]int, len(groups))
		}
		for _, e := range slice.Endpoints {
			if !e.Ready || e.Terminating {
				continue
			}
			c.all++
			placed = placed && e.Node != "" && e.Pod != ""
			for i, deaths := range groups {
				if slices.ContainsFunc(deaths, func(d *Death) bool { return d.hit(attribution.PodOn{Pod: e.Pod, Node: e.Node}) }) {
					c.on[i]++
				}
			}
		}
		counts[slice.Service] = c
		offered += c.all
	}
	var names []string
	for name, c := range counts {
		if c.victims() > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if front := o.onlyFront(f, names, lanes); front != nil && !f.Blind(o.From) {
		o.throughFront(front, names, counts)
		return
	}
	switch {
	case len(names) < 2 && len(names)+len(doors) > 0 && f.Blind(o.From):
		o.doubts.Add("how much of %s the victims of %s had is not known: a watch was blind", prose.List(slices.Concat(names, doors)[:1]), o.name)
	case len(names) == 1:
		c := counts[names[0]]
		o.service = names[0]
		o.share = c.share()
		o.Words = fmt.Sprintf("the victims had %d of %s of %s, %s", c.victims(), prose.Count(c.all, "endpoint"), names[0], prose.Percent(o.share))
	case len(names) == 0 && placed && offered > 0:
		o.missed, o.Words = true, "the victims had no endpoint of "+prose.List(doors)
	case len(names) == 0:
		o.doubts.Add("no service had an endpoint on the victims of %s", o.name)
	default:
		o.doubts.Add("%s had endpoints on the victims of %s; the promise must name one", prose.List(names), o.name)
	}
}

// Missed reports whether no request met a victim, because the victims were not among the endpoints of the lanes' Services.
func (o *Outage) Missed() bool { return o.missed && !o.met }

// hit reports whether a pod, or its node, was a victim.
func (o *Outage) hit(p attribution.PodOn) bool {
	return slices.ContainsFunc(o.deaths, func(d *Death) bool { return d.hit(p) })
}

// Answered counts a request with a good answer, on a lane that is judged or on another.
func (o *Outage) Answered(r *history.Request, judged bool) {
	for _, d := range o.deaths {
		d.addAnswer(r)
		o.met = o.met || judged && r.Done <= d.seen && !r.Inferred && d.hit(attribution.PodOn{Pod: r.Pod, Node: r.Node})
	}
}

// Before returns the death from which a moment is measured: the last death before it, or else the first.
func (o *Outage) Before(at history.Offset) *Death {
	last := o.deaths[0]
	for _, d := range o.deaths {
		if d.Earliest() <= at && d.Earliest() >= last.Earliest() {
			last = d
		}
	}
	return last
}

// AllDoubts returns what is not known of the outage. Failed says whether any request failed in it.
func (o *Outage) AllDoubts(failed bool) verdict.Missing {
	d := slices.Clone(o.doubts)
	if o.missed && o.met {
		d.Add("no service had an endpoint on the victims of %s, although they answered", o.name)
	}
	if o.recorded && o.share >= 1 && slices.ContainsFunc(o.lanes, func(l *outageLane) bool { return l.failed+l.kept > 0 }) {
		d.Add("requests failed while %s, and no pod was left that could answer, so this neither breaks nor proves the promise", o.Words)
	}
	for _, death := range o.deaths {
		if death.until > 0 { // from then on nothing is allowed, whenever the pod died
			continue
		}
		if over := death.Earliest() + death.limit; death.healing.OK && death.healing.At < over {
			d.Add("%s began to be reverted at %s, before failures had to end at %s", death.name, prose.Moment(death.healing.At), prose.Moment(over))
		}
		if unsure := death.latest() - death.Earliest(); failed && unsure > unsureAtMost {
			d.Add("when the victims of %s died is known to %s only: at %s %s, and it was seen to take effect at %s",
				death.name, prose.Moment(unsure), prose.Moment(death.Earliest()), death.Since(), prose.Moment(death.seen))
		}
	}
	return d
}
