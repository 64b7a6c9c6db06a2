package timeline

import (
	"cmp"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Pod is the timeline of one pod.
type Pod struct {
	Index                int // in Timeline.Pods
	Namespace, Name, UID string
	// Node and IP are empty if the pod never had one. Labels are those of the last report.
	Node, IP string
	Labels   map[string]string
	// Revision is the pod-template-hash, or the controller-revision-hash of a StatefulSet's pod.
	Revision string
	// Disruption is the last reason of a DisruptionTarget condition, see history.Pod.
	Disruption string
	// Killed means that a container ended by SIGKILL while the pod was being deleted, see history.Pod.
	Killed bool
	// Lifecycle is nil in older records.
	Lifecycle *history.Lifecycle
	// Alone means that no other pod of the record had the name.
	Alone bool
	// Reports are all reports of the watch, the last one included, in which Change is Deleted.
	Reports Series[*history.Pod]

	// Running and Ready are when the pod was first reported so; while it was Ready, its deletion may have been accepted.
	Running, Ready history.Moment
	// Requested is when the pod was first reported with a deletionTimestamp; not OK if it vanished without such a report.
	Requested history.Moment
	// Evicted is when its kubelet was first reported to evict it. A kubelet's eviction is no deletion.
	//
	// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
	Evicted history.Moment
	// Ended is when the pod was first reported in a final phase. The object may still exist: a kubelet's eviction fails the pod
	// without deleting it.
	Ended history.Moment
	// Gone is when the object was deleted; not OK if it existed until the end of the record.
	Gone history.Moment

	// Probed means that the pod was reported running and not ready before it was ready for the first time, so that it has a
	// readiness probe. False proves nothing: the report may have come too late.
	Probed bool
	// Downtimes are the times in which a container was restarted, ordered; To is Never if the pod was not ready again.
	Downtimes []Downtime
	restarts  int
	kills     []history.Offset // of containers, according to Kubernetes Events
	// Kubelet is when its kubelet reported something about it, according to them.
	Kubelet []history.Offset

	// Endpoints are the pod's endpoints by Service; a Service of which the pod never was an endpoint has none.
	Endpoints map[string]Series[Endpoint]
	// Offered is when a Service first had the pod as a ready endpoint.
	Offered history.Moment
}

// Downtime is a time in which a container was restarted, both ends included. From is the earliest moment at which it may have ended, and Told
// when the restart was reported.
type Downtime struct{ From, Told, To history.Offset }

// Last is the last report of the pod.
func (p *Pod) Last() *history.Pod { return p.Reports[len(p.Reports)-1].Value }

// Seen is when the pod was first reported.
func (p *Pod) Seen() history.Offset { return p.Reports[0].At }

// EndBegan is the first sign of the pod's end: its deletion was accepted, it was in a final phase, or it had vanished. Never if
// it did not end. A kubelet's eviction counts when the pod has failed.
func (p *Pod) EndBegan() history.Offset {
	began := Never
	for _, m := range []history.Moment{p.Requested, p.Ended, p.Gone} {
		if m.OK {
			began = min(began, m.At)
		}
	}
	return began
}

// Terminating reports whether the deletion of a pod was accepted, according to a report. The object of a pod that has ended by
// itself is not being deleted.
func Terminating(p *history.Pod) bool { return p.Deleting || p.Change == history.Deleted }

// Healthy reports whether a disruption budget counts a pod as healthy, according to a report: ready, and not terminating.
//
// Source: countHealthyPods in kubernetes pkg/controller/disruption/disruption.go
func Healthy(p *history.Pod) bool { return p.Ready && !Terminating(p) }

// pod adds a report to the pod's timeline.
func (t *Timeline) pod(byUID map[string]*Pod, at history.Offset, seen *history.Pod) {
	p := byUID[seen.UID]
	if p == nil {
		p = &Pod{
			Index: len(t.Pods), Namespace: seen.Namespace, Name: seen.Name, UID: seen.UID, Endpoints: make(map[string]Series[Endpoint]),
		}
		byUID[p.UID] = p
		t.Pods = append(t.Pods, p)
		t.byName[p.Name] = append(t.byName[p.Name], p)
	}
	ended := p.EndBegan() != Never
	p.see(at, seen)
	if !ended && p.EndBegan() != Never {
		t.ended = append(t.ended, p)
	}
}

func (p *Pod) see(at history.Offset, seen *history.Pod) {
	p.Reports = append(p.Reports, Point[*history.Pod]{at, seen})
	p.Node, p.IP, p.Labels = cmp.Or(seen.Node, p.Node), cmp.Or(seen.IP, p.IP), seen.Labels
	p.Revision = cmp.Or(seen.Labels["pod-template-hash"], seen.Labels["controller-revision-hash"], p.Revision)
	p.Disruption = cmp.Or(seen.Disruption, p.Disruption)
	p.Killed = p.Killed || seen.Killed
	if seen.Lifecycle != nil {
		p.Lifecycle = seen.Lifecycle
	}
	if seen.Change == history.Deleted {
		p.Gone.First(at)
		return
	}
	if seen.Deleting {
		p.Requested.First(at)
	}
	if seen.Disruption == "TerminationByKubelet" {
		p.Evicted.First(at)
	}
	if seen.Ended() {
		p.Ended.First(at)
		return
	}
	if seen.Phase == "Running" {
		p.Running.First(at)
		p.Probed = p.Probed || !seen.Ready && !p.Ready.OK && !seen.Deleting && seen.Waiting == "" && seen.Restarts == 0
	}
	if seen.Restarts > p.restarts && seen.Change != history.Listed {
		p.restarted(at)
	}
	p.restarts = max(p.restarts, seen.Restarts)
	if seen.Ready {
		p.Ready.First(at)
		if n := len(p.Downtimes); n > 0 && p.Downtimes[n-1].To == Never {
			p.Downtimes[n-1].To = at
		}
	}
}

// restartLookback is how long before the report of a restart the container may have ended, if no Kubernetes Event says when. A
// kubelet reports both within a second. A container that crashes repeatedly is restarted later, but is not ready meanwhile.
const restartLookback = 3 * time.Second

// restarted begins a downtime: from when the kubelet killed the container, if it did.
func (p *Pod) restarted(at history.Offset) {
	n := len(p.Downtimes)
	if n > 0 && p.Downtimes[n-1].To == Never {
		return // the container ended again before the pod was ready
	}
	from := at - restartLookback
	if k := len(p.kills); k > 0 && (n == 0 || p.kills[k-1] >= p.Downtimes[n-1].To) {
		from = p.kills[k-1]
	}
	p.Downtimes = append(p.Downtimes, Downtime{from, at, Never})
}

// note adds a Kubernetes Event about the pod.
func (p *Pod) note(at history.Offset, n *history.KubeNote) {
	if n.Source == "kubelet" {
		p.Kubelet = append(p.Kubelet, at)
	}
	switch n.Reason {
	case "Killing":
		p.kills = append(p.kills, at)
	case "Evicted":
		p.Evicted.First(at)
	}
}

// PodState is what a pod was good for.
type PodState string

// The states of a pod, until it has ended.
const (
	PodStarting    PodState = "starting"
	PodReady       PodState = "ready"
	PodUnready     PodState = "unready" // was ready before
	PodTerminating PodState = "terminating"
)

// Spans are the times between the changes of the pod's state, until end, which is that of the record. A pod that has ended is
// in no state.
func (p *Pod) Spans(end history.Offset) []Span[PodState] {
	wasReady := false
	return spans(p.Reports, end, func(seen *history.Pod) (PodState, bool) {
		wasReady = wasReady || Healthy(seen) && !seen.Ended()
		switch {
		case seen.Change == history.Deleted, seen.Ended():
			return "", false
		case seen.Deleting:
			return PodTerminating, true
		case seen.Ready:
			return PodReady, true
		case wasReady:
			return PodUnready, true
		}
		return PodStarting, true
	})
}
