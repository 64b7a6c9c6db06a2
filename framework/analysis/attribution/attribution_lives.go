package attribution

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// zoneLabel is where a node says in which zone it is.
const zoneLabel = "topology.kubernetes.io/zone"

// life is what became of one pod, as the watches told it.
type life struct {
	namespace, Name, uid     string
	ip, Node, zone, revision string
	running, ready           history.Moment // first seen as
	deleted, ended, gone     history.Moment
	evicting                 history.Moment // of its kubelet's own accord
	disruption               string
	lifecycle                *history.Lifecycle // nil in an old record
	seenUnready              bool               // it ran before it was ready: it has a readiness probe
	downs                    []downtime
	killings                 []history.Offset // all that the kubelet told of
	restarts                 int
	offers                   map[string][]Offer // by Service, in order
	accepted                 accepted
	firstAnswer, firstOffer  history.Moment
	alone                    bool // no other pod had its name
}

// downtime is a time in which a pod's container was started again.
type downtime struct{ from, to history.Offset }

// Offer is how a Service offered a pod from a moment on.
type Offer struct {
	at             history.Offset
	Ready, Serving bool
}

// lostNode is a time in which a node was away.
type lostNode struct {
	node     string
	from, to history.Offset
	seen     bool           // as not ready, and not only bitten by a fault
	told     history.Offset // when it was seen
}

// lives are who could be sent to, and how they were, through a whole record.
type lives struct {
	facts    *evidence.Run
	all      []*life
	byName   map[string][]*life // one after another
	lost     []lostNode
	services map[string]map[*life]bool // who a Service ever offered
	probed   map[string]bool           // revisions whose pods have a readiness probe
	Gateways map[history.Lane]bool     // lanes that go through a gateway
	gateway  accepted                  // what a gateway answered, be it with an error
	target   []string                  // the Services that requests go to
	entry    []string                  // the others
	from     history.Offset            // when load began
	last     *life                     // that answered
	order    map[string][]*life        // of a Service, in the order in which they were seen
	hosts    map[string]bool           // addresses that were dialled: whether they are no pod's
}

// livesKey is what the lives of a record are remembered by.
type livesKey struct{}

// LivesOf a record, put together once. From then on they are given the requests that were due under load.
func LivesOf(f *evidence.Run) *lives {
	return evidence.Memoize(f, livesKey{}, func() *lives {
		s := newLives(f)
		f.OnRequest = append(f.OnRequest, s.answered)
		return s
	})
}

func newLives(f *evidence.Run) *lives {
	s := &lives{
		facts: f, byName: make(map[string][]*life), services: make(map[string]map[*life]bool),
		probed: make(map[string]bool), Gateways: make(map[history.Lane]bool),
	}
	s.from, _ = f.UnderLoad()
	uids, slicesNow, zones := make(map[string]*life), make(map[history.Key]history.Slice), make(map[string]string)
	for i := range f.Record.Events {
		switch e := &f.Record.Events[i]; {
		case e.Node != nil:
			zones[e.Node.Name] = cmp.Or(e.Node.Labels[zoneLabel], zones[e.Node.Name])
		case e.Pod != nil:
			s.life(uids, e.Pod).see(e.T, e.Pod)
		case e.Slice != nil:
			key := history.Key{Namespace: e.Slice.Namespace, Name: e.Slice.Name}
			if slicesNow[key] = *e.Slice; e.Slice.Change == history.Deleted {
				delete(slicesNow, key)
			}
			s.offered(e.T, e.Slice.Service, slicesNow)
		case e.KubeNote != nil && e.KubeNote.Kind == "Pod":
			if l := s.Named(e.KubeNote.Name, e.T); l != nil {
				l.note(e.T, e.KubeNote)
			}
		}
	}
	for _, l := range s.all {
		l.zone, l.alone = zones[l.Node], len(s.byName[l.Name]) == 1
		if l.seenUnready || l.lifecycle != nil && l.lifecycle.Readiness {
			s.probed[l.kin()] = true
		}
	}
	s.lost = lostNodes(f)
	return s
}

// life finds a pod's life, or begins it.
func (s *lives) life(uids map[string]*life, p *history.Pod) *life {
	l := uids[p.UID]
	if l == nil {
		l = &life{namespace: p.Namespace, Name: p.Name, uid: p.UID, offers: make(map[string][]Offer)}
		uids[p.UID] = l
		s.all = append(s.all, l)
		s.byName[p.Name] = append(s.byName[p.Name], l)
	}
	return l
}

// kin are the pods of the same template.
func (l *life) kin() string { return l.namespace + "/" + l.revision }

// see takes in what the watch told of the pod.
func (l *life) see(at history.Offset, p *history.Pod) {
	l.Node, l.ip = cmp.Or(p.Node, l.Node), cmp.Or(p.IP, l.ip)
	l.revision = cmp.Or(p.Labels["pod-template-hash"], p.Labels["controller-revision-hash"], l.revision)
	l.disruption = cmp.Or(p.Disruption, l.disruption)
	if p.Lifecycle != nil {
		l.lifecycle = p.Lifecycle
	}
	if p.Change == history.Deleted {
		firstAt(&l.gone, at)
		return
	}
	if p.Deleting {
		firstAt(&l.deleted, at)
	}
	if p.Disruption == "TerminationByKubelet" {
		firstAt(&l.evicting, at)
	}
	if p.Ended() {
		firstAt(&l.ended, at)
		return
	}
	if p.Phase == "Running" {
		firstAt(&l.running, at)
		l.seenUnready = l.seenUnready || !p.Ready && !l.ready.OK && !p.Deleting && p.Waiting == "" && p.Restarts == 0
	}
	if p.Restarts > l.restarts && p.Change != history.Listed {
		l.restarted(at)
	}
	l.restarts = max(l.restarts, p.Restarts)
	if p.Ready {
		firstAt(&l.ready, at)
		if n := len(l.downs); n > 0 && l.downs[n-1].to == evidence.Never {
			l.downs[n-1].to = at
		}
	}
}

// firstAt keeps the first moment.
func firstAt(m *history.Moment, at history.Offset) {
	if !m.OK {
		*m = history.Moment{At: at, OK: true}
	}
}

// restartLookback is how long before a restart is told its container may have ended, where nobody told of that. A kubelet
// tells of both within a second; a container that crashes again and again is waited for in between, and is not ready then.
const restartLookback = 3 * time.Second

// restarted notes that the container was started again: it was down since the kubelet told it to end, where it did.
func (l *life) restarted(at history.Offset) {
	n := len(l.downs)
	if n > 0 && l.downs[n-1].to == evidence.Never {
		return // it went down again before it was ready
	}
	from := at - restartLookback
	if k := len(l.killings); k > 0 && (n == 0 || l.killings[k-1] >= l.downs[n-1].to) {
		from = l.killings[k-1]
	}
	l.downs = append(l.downs, downtime{from, evidence.Never})
}

// note takes in what Kubernetes' components told about the pod.
func (l *life) note(at history.Offset, n *history.KubeNote) {
	switch n.Reason {
	case "Killing":
		l.killings = append(l.killings, at)
	case "Evicted":
		firstAt(&l.evicting, at)
	}
}

// Named is the pod of a name at a moment: of several that had it, the one that was there, or the last one before.
func (s *lives) Named(name string, at history.Offset) *life {
	list := s.byName[name]
	for i, l := range list {
		if i+1 == len(list) || !l.gone.OK || at <= l.gone.At {
			return l
		}
	}
	return nil
}

// addressed is the pod of an address at a moment; nil when it is nobody's, as that of a Service is.
func (s *lives) addressed(ip string, at history.Offset) *life {
	var found *life
	for _, l := range s.all {
		if l.ip == ip && l.running.OK && l.running.At <= at+evidence.WatchSkew && (found == nil || !l.gone.OK || at <= l.gone.At) {
			found = l
		}
	}
	return found
}

// offered takes in whom a Service offers from now on.
func (s *lives) offered(at history.Offset, service string, all map[history.Key]history.Slice) {
	members := s.services[service]
	if members == nil {
		members = make(map[*life]bool)
		s.services[service] = members
	}
	now := make(map[*life]Offer)
	for _, slice := range all {
		if slice.Service != service {
			continue
		}
		for _, e := range slice.Endpoints {
			if l := s.endpoint(&e, at); l != nil {
				now[l] = Offer{at, e.Ready, e.Serving}
				members[l] = true
			}
		}
	}
	for l := range members {
		l.offer(service, cmp.Or(now[l], Offer{at: at}))
	}
}

// endpoint is the pod that an endpoint leads to: the pod of its name that had its address.
func (s *lives) endpoint(e *history.Endpoint, at history.Offset) *life {
	for _, l := range s.byName[e.Pod] {
		if l.ip == e.IP {
			return l
		}
	}
	return s.Named(e.Pod, at)
}

func (l *life) offer(service string, o Offer) {
	list := l.offers[service]
	if n := len(list); n > 0 && list[n-1].Ready == o.Ready && list[n-1].Serving == o.Serving {
		return
	}
	l.offers[service] = append(list, o)
	if o.Ready {
		firstAt(&l.firstOffer, o.at)
	}
}

// OfferedBetween tells whether a Service offered the pod at some time between two moments, both included. Where no endpoint
// is ready, proxies turn to those that are ending and still serve.
//
// Source: https://kubernetes.io/docs/reference/networking/virtual-ips/#traffic-to-terminating-endpoints
func (l *life) OfferedBetween(service string, from, to history.Offset, like func(Offer) bool) bool {
	list := l.offers[service]
	for i, o := range list {
		over := i+1 < len(list) && list[i+1].at < from
		if o.at <= to && !over && like(o) {
			return true
		}
	}
	return false
}

// Withdrawn is when a Service last stopped offering the pod as ready; not OK if it did not before a moment.
func (l *life) Withdrawn(before history.Offset) (m history.Moment) {
	for _, list := range l.offers {
		for i, o := range list {
			if i > 0 && list[i-1].Ready && !o.Ready && o.at <= before {
				m = history.Moment{At: max(m.At, o.at), OK: true}
			}
		}
	}
	return m
}

// lostNodes are the times in which nodes were away: from the beginning of the fault that took them, where there is one. A
// node that a fault bit, and of which nobody says that it was not ready, may have been.
func lostNodes(f *evidence.Run) (list []lostNode) {
	for _, loss := range f.Record.NodeLosses(0, evidence.Never) {
		n := lostNode{node: loss.Name, from: loss.At, to: evidence.Never, seen: true, told: loss.At}
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
				list = append(list, lostNode{node: node, from: fault.Injecting.At, to: to})
			}
		}
	}
	return list
}

// settle draws conclusions from all answers together. It takes back losses of nodes whose pods went on answering: it was the
// kubelet alone that fell silent.
func (s *lives) settle() {
	s.findTarget()
	s.lost = slices.DeleteFunc(s.lost, func(n lostNode) bool {
		return n.seen && slices.ContainsFunc(s.all, func(l *life) bool {
			return l.Node == n.node && l.accepted.between(n.told+evidence.WatchSkew, n.to-evidence.WatchSkew)
		})
	})
}

// wasLost tells whether a node had been away before a moment, or was.
func (s *lives) wasLost(node string, at history.Offset) bool {
	return slices.ContainsFunc(s.lost, func(n lostNode) bool { return n.seen && n.node == node && n.from <= at })
}

// nodeLost tells whether a pod's node was away, and whether that was seen or may only have been. A node that comes back
// brings its pods back one after the other: until one takes connections again, it is as lost as before.
func (s *lives) nodeLost(l *life, at history.Offset) (lost, seen bool) {
	for _, n := range s.lost {
		if n.node != l.Node || at < n.from {
			continue
		}
		away := at <= n.to || n.seen && at <= n.until() && l.running.OK && l.running.At < n.to && !l.accepted.between(n.to, at)
		lost, seen = lost || away, seen || away && n.seen
	}
	return lost, seen
}
