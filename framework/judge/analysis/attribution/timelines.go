package attribution

import (
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// PodTimeline is the timeline of a pod, with what the requests showed of it.
type PodTimeline struct {
	*timeline.Pod
	front       *history.Container // the one of several containers that Services send requests to; nil: it is not known which
	zone        string
	accepted    accepted
	firstAnswer history.Moment
}

// absence is a time in which a node was lost.
type absence struct {
	node     string
	from, to history.Offset
	seen     bool           // the node was reported as not Ready; false: a fault affected it, and nothing more is known
	reported history.Offset // when the node was reported as not Ready
}

// Timelines are the pods, nodes and Services of a record to which requests could be sent.
type Timelines struct {
	facts    *evidence.Run
	objects  *timeline.Timeline
	pods     []*PodTimeline // by timeline.Pod.Index
	absences []absence
	probed   map[string]bool                 // templates whose pods have a readiness probe, see template
	named    map[history.Owner]bool          // workloads of which a pod has answered in its own name
	Gateways map[history.Lane]bool           // lanes that go through a gateway
	fronts   map[history.Lane]*history.Front // of those, lanes whose gateway is not holdfast's own, and names no pod
	own      map[history.Lane]string         // the Service that a lane's URL leads to, if it names one
	gateway  accepted                        // when a gateway answered, errors included
	target   []string                        // the Services to which requests go
	entry    []string                        // the other Services
	from, to history.Offset                  // when the load began and ended
	owners   map[string]bool                 // see owners
	lately   map[history.Lane]*lately        // see unended
	last     *PodTimeline                    // the pod that answered last
	order    map[string][]*PodTimeline       // see Sorted
	hosts    map[string]bool                 // the hosts of dialled addresses; true: the host never was a pod's
}

// timelinesKey is the key under which a Run remembers its Timelines.
type timelinesKey struct{}

// TimelinesOf returns the timelines of a record, which are built once. From then on, they see each request that is due under
// load.
func TimelinesOf(f *evidence.Run) *Timelines {
	return evidence.Memoize(f, timelinesKey{}, func() *Timelines {
		s := newTimelines(f)
		f.OnRequest = append(f.OnRequest, s.answered)
		return s
	})
}

func newTimelines(f *evidence.Run) *Timelines {
	s := &Timelines{
		facts: f, objects: f.Timeline(), probed: make(map[string]bool), named: make(map[history.Owner]bool), Gateways: make(map[history.Lane]bool), fronts: f.Record.Fronts(),
		own: f.Record.Services(), owners: owners(f.Record.Events), lately: make(map[history.Lane]*lately),
	}
	for lane := range s.fronts {
		s.Gateways[lane] = true
	}
	maps.DeleteFunc(s.own, func(_ history.Lane, service string) bool { return !s.hasService(service) })
	s.from, s.to = f.UnderLoad()
	for _, p := range s.objects.Pods {
		l := &PodTimeline{Pod: p, front: front(p, s.objects.Ports)}
		if n := s.objects.Nodes[p.Node]; n != nil {
			l.zone = n.Zone
		}
		if p.Probed || p.Lifecycle != nil && p.Lifecycle.Readiness {
			s.probed[l.template()] = true
		}
		s.pods = append(s.pods, l)
	}
	s.absences = absences(f)
	return s
}

// template identifies the pod template of the pod.
func (l *PodTimeline) template() string { return l.Namespace + "/" + l.Revision }

// Named is the pod of a name at a moment, see timeline.Timeline.Pod.
func (s *Timelines) Named(name string, at history.Offset) *PodTimeline {
	if p := s.objects.Pod(name, at); p != nil {
		return s.pods[p.Index]
	}
	return nil
}

// addressed is the pod that had an address at a moment; nil: no pod had it, as with the address of a Service.
func (s *Timelines) addressed(ip string, at history.Offset) *PodTimeline {
	var found *PodTimeline
	for _, l := range s.pods {
		if l.IP == ip && l.Running.OK && l.Running.At <= at+evidence.WatchSkew && (found == nil || !l.Gone.OK || at <= l.Gone.At) {
			found = l
		}
	}
	return found
}

// OfferedBetween reports whether a Service had the pod as such an endpoint at some moment between two moments, both included.
// An endpoint that changed exactly at from counts as it was before, too. If no endpoint is ready, proxies use those that are
// terminating and still serve.
//
// Source: https://kubernetes.io/docs/reference/networking/virtual-ips/#traffic-to-terminating-endpoints
func (l *PodTimeline) OfferedBetween(service string, from, to history.Offset, like func(timeline.Endpoint) bool) bool {
	return l.Endpoints[service].Any(from-1, to, like)
}

// absences are the times in which nodes were lost: from the beginning of the fault that took the node, if there was one. A node
// that a fault affected may have been lost even if it was never reported as not Ready.
func absences(f *evidence.Run) (list []absence) {
	for _, loss := range f.Timeline().NodeLosses(0, evidence.Never) {
		n := absence{node: loss.Name, from: loss.At, to: evidence.Never, seen: true, reported: loss.At}
		if loss.Back.OK {
			n.to = loss.Back.At
		}
		for _, fault := range f.Faults {
			if fault.Injecting.OK && fault.Injecting.At <= loss.At && slices.Contains(fault.Nodes, loss.Name) &&
				(!fault.Healed.OK || fault.Healed.At >= loss.At) {
				n.from = fault.Injecting.At
			}
		}
		list = append(list, n)
	}
	for _, fault := range f.Faults {
		to := evidence.Never
		if fault.Healed.OK {
			to = fault.Healed.At
		}
		for _, node := range fault.Nodes {
			if fault.Injecting.OK {
				list = append(list, absence{node: node, from: fault.Injecting.At, to: to})
			}
		}
	}
	return list
}

// settle draws the conclusions that need all answers. It removes the losses of nodes whose pods went on answering, because only
// the kubelet was silent then.
func (s *Timelines) settle() {
	s.findTarget()
	s.absences = slices.DeleteFunc(s.absences, func(n absence) bool {
		return n.seen && slices.ContainsFunc(s.pods, func(l *PodTimeline) bool {
			return l.Node == n.node && l.accepted.between(n.reported+evidence.WatchSkew, n.to-evidence.WatchSkew)
		})
	})
}

// wasLost reports whether a node was lost at a moment, or had been before.
func (s *Timelines) wasLost(node string, at history.Offset) bool {
	return slices.ContainsFunc(s.absences, func(n absence) bool { return n.seen && n.node == node && n.from <= at })
}

// nodeLost reports whether a pod's node was lost, and whether it was reported so or may only have been lost. The pods of a node
// that comes back do so one after another: until a pod accepts connections again, it counts as lost.
func (s *Timelines) nodeLost(l *PodTimeline, at history.Offset) (lost, seen bool) {
	for _, n := range s.absences {
		if n.node != l.Node || at < n.from {
			continue
		}
		away := at <= n.to || n.seen && at <= n.until() && l.Running.OK && l.Running.At < n.to && !l.accepted.between(n.to, at)
		lost, seen = lost || away, seen || away && n.seen
	}
	return lost, seen
}
