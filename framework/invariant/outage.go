package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// outageStep is how finely requests are counted during an outage: the time between two requests of a usual lane.
	outageStep = 10 * time.Millisecond
	// maxOutage bounds the counting; no cluster takes an hour to notice a lost node.
	maxOutage = time.Hour
	// chance is how unlikely a number of failures must be before more than the victims' share is blamed for it: one-sided,
	// 99.9 %.
	chance = 0.001
)

// outage is a time in which failures are allowed: from a fault's beginning to the predicted end. Outages that overlap
// are one, with the victims of all their faults.
type outage struct {
	name     string // of the fault, or faults
	from, to history.Offset
	seen     history.Offset // of the fault that was seen last
	nodes    []string
	pods     []string

	share  float64 // of the ready endpoints just before, on the victims
	words  string  // the same in words
	doubts doubts
	served bool // a victim answered a request before

	lanes []*outageLane
}

// outageLane counts a lane's requests during an outage.
type outageLane struct {
	lane        history.Lane
	sent        []uint32 // by step
	failed      uint64
	first, last history.Offset // Sent of failures
}

// outages joins the faults that were seen to bite into outages.
func (p FailuresEndWithin) outages(f *facts) (list []*outage) {
	for _, fault := range f.faults {
		if !fault.Injecting.OK || !fault.Seen.OK {
			continue
		}
		o := &outage{name: fault.Name, from: fault.Injecting.At, nodes: fault.Nodes, pods: fault.Pods}
		// A damaged record may hold any moment. Memory is bounded all the same.
		o.seen = min(max(fault.Seen.At, o.from), o.from+maxOutage)
		o.to = o.seen + min(p.limit(f.run), maxOutage)
		if o.seen != fault.Seen.At {
			o.doubts.add("%s was seen to bite at %s, which makes no sense after %s", o.name, moment(fault.Seen.At), moment(o.from))
		}
		if fault.Healing.OK && fault.Healing.At < o.to {
			o.doubts.add("%s began to be undone at %s, before failures had to be over at %s",
				fault.Name, moment(fault.Healing.At), moment(o.to))
		}
		list = append(list, o)
	}
	slices.SortStableFunc(list, func(a, b *outage) int { return cmp.Compare(a.from, b.from) })
	list = join(list)
	for _, o := range list {
		o.findShare(f, p.Service)
	}
	return list
}

func join(list []*outage) (joined []*outage) {
	for _, o := range list {
		n := len(joined)
		if n == 0 || o.from >= joined[n-1].to {
			joined = append(joined, o)
			continue
		}
		last := joined[n-1]
		last.name += " and " + o.name
		last.to, last.seen = max(last.to, o.to), max(last.seen, o.seen)
		last.nodes, last.pods = slices.Concat(last.nodes, o.nodes), slices.Concat(last.pods, o.pods)
		last.doubts = append(last.doubts, o.doubts...)
	}
	return joined
}

// findShare counts the ready endpoints of the service on the victims just before the outage.
func (o *outage) findShare(f *facts, service string) {
	type ends struct{ all, victims int }
	counts := make(map[string]ends) // by Service
	for _, slice := range f.run.StateAt(o.from - 1).Slices {
		if service != "" && slice.Service != service {
			continue
		}
		c := counts[slice.Service]
		for _, e := range slice.Endpoints {
			if !e.Ready || e.Terminating {
				continue
			}
			c.all++
			if o.bit(e.Pod, e.Node) {
				c.victims++
			}
		}
		counts[slice.Service] = c
	}
	var names []string
	for name, c := range counts {
		if c.victims > 0 {
			names = append(names, name)
		}
	}
	switch slices.Sort(names); len(names) {
	case 1:
		if f.blind(o.from) {
			o.doubts.add("how much of %s the victims of %s had is not known: a watch was blind", names[0], o.name)
			return
		}
		c := counts[names[0]]
		o.share = float64(c.victims) / float64(c.all)
		o.words = fmt.Sprintf("the victims had %d of %s of %s, %s", c.victims, count(c.all, "endpoint"), names[0], percent(o.share))
	case 0:
		o.doubts.add("no service had an endpoint on the victims of %s", o.name)
	default:
		o.doubts.add("%s had endpoints on the victims of %s: name the one that is meant", list(names), o.name)
	}
}

// bit tells whether a pod, or the node it is on, was a victim.
func (o *outage) bit(pod, node string) bool {
	return pod != "" && slices.Contains(o.pods, pod) || node != "" && slices.Contains(o.nodes, node)
}

// answered notes that a victim answered before the outage.
func (o *outage) answered(r *history.Request) {
	if !o.served && r.Done < o.from && !r.Inferred && o.bit(r.Pod, r.Node) {
		o.served = true
	}
}

// count takes a request that was sent during the outage, or was in flight when it began.
func (o *outage) count(r *history.Request, failed bool) {
	l := o.lane(r.Lane)
	if l == nil {
		return
	}
	at := max(r.Sent, o.from)
	l.sent[(at-o.from)/outageStep]++
	if !failed {
		return
	}
	if l.failed == 0 || at < l.first {
		l.first = at
	}
	l.last = max(l.last, at)
	l.failed++
}

func (o *outage) lane(name history.Lane) *outageLane {
	for _, l := range o.lanes {
		if l.lane == name {
			return l
		}
	}
	if len(o.lanes) == maxLanes {
		return nil // the tally says so
	}
	l := &outageLane{lane: name, sent: make([]uint32, (o.to-o.from)/outageStep+1)}
	o.lanes = append(o.lanes, l)
	return l
}

// share is how much of a lane's traffic failed while an outage lasted.
type share struct {
	outage      *outage
	lane        history.Lane
	failed, all uint64 // from the first failure to the last
	most        uint64 // of all that may fail by chance
	first       history.Offset
	measured    time.Duration // from the moment the fault was seen to the last failure; never negative
}

// shares measures every lane that had failures in every outage.
func (j *failuresEndWithin) shares(v *Verdict, lanes []history.Lane) (list []share) {
	for _, o := range j.outages {
		v.measure("victimsShare", o.share)
		for _, l := range o.lanes {
			if l.failed == 0 || !slices.Contains(lanes, l.lane) {
				continue
			}
			s := o.shareOf(l)
			v.measure("failedShare."+string(l.lane), float64(s.failed)/float64(s.all))
			v.measure("allowedShare."+string(l.lane), float64(s.most)/float64(s.all))
			v.measure("measuredSeconds", max(v.Numbers["measuredSeconds"], s.measured.Seconds()))
			list = append(list, s)
		}
	}
	return list
}

func (o *outage) shareOf(l *outageLane) share {
	s := share{outage: o, lane: l.lane, failed: l.failed, first: l.first, measured: max(0, l.last-o.seen)}
	for i := (l.first - o.from) / outageStep; i <= (l.last-o.from)/outageStep; i++ {
		s.all += uint64(l.sent[i])
	}
	s.most = s.all
	if o.share > 0 && s.all > 2 {
		// The first and the last failed by definition: they are where the outage was cut. What lies between is a sample.
		s.most = min(s.all, 2+mostOf(s.all-2, o.share, chance))
	}
	return s
}

// String says what failed, and what was allowed to.
func (s share) String() string {
	return fmt.Sprintf("%d of %d requests (%s) failed on %s during the outage of %s; %s, which with sampling error allows %d",
		s.failed, s.all, percent(float64(s.failed)/float64(s.all)), s.lane, s.outage.name, s.outage.words, s.most)
}

// tooMany is the first lane on which more failed than the victims' share explains.
func tooMany(list []share) *share {
	for i := range list {
		if s := &list[i]; s.failed > s.most {
			return s
		}
	}
	return nil
}
