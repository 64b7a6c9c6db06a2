package outage

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// unsureAtMost is how precisely the moment at which the victims of a fault died must be known. Even with two busy cores,
// witnesses see a dead machine within seconds: 3 s is the longest time that was measured.
const unsureAtMost = 5 * time.Second

// Death is when the victims of one fault died, as far as the record shows. The fault's witness looked some time later, so the
// moments of good answers and of failures are tighter bounds.
type Death struct {
	name        string
	from, seen  history.Offset // the fault's beginning, and its witness
	healing     history.Moment
	nodes, pods []string
	limit       time.Duration  // how long after the death requests may fail
	until       history.Offset // requests that are sent from then on are not the victims', whenever they died; 0: limit decides

	answered history.Moment // when the last good answer of a victim ended, of those between from and seen
	failed   history.Moment // when a request first failed at a victim after that
}

// hit reports whether a pod, or its node, was a victim. If the fault affected nodes, a pod with a victim's name on another node is
// its successor.
func (d *Death) hit(p attribution.PodOn) bool {
	if p.Node != "" && len(d.nodes) > 0 {
		return slices.Contains(d.nodes, p.Node)
	}
	return p.Pod != "" && slices.Contains(d.pods, p.Pod) || p.Node != "" && slices.Contains(d.nodes, p.Node)
}

// addAnswer counts a good answer.
func (d *Death) addAnswer(r *history.Request) {
	if r.Done >= d.from && r.Done <= d.seen && r.Done > d.answered.At && !r.Inferred && d.hit(attribution.PodOn{Pod: r.Pod, Node: r.Node}) {
		d.answered = history.Moment{At: r.Done, OK: true}
	}
}

// addFailure counts a request that failed at a victim. A request that was never answered was sent to a dead victim. Any other
// failure is known at the moment when it happens. A late answer shows no death.
func (d *Death) addFailure(r *history.Request) {
	if r.Outcome == history.Late {
		return
	}
	at := r.Done
	if evidence.Unanswered(r.Outcome) {
		at = r.Sent
	}
	if at >= d.Earliest() && (!d.failed.OK || at < d.failed.At) {
		d.failed = history.Moment{At: at, OK: true}
	}
}

// Earliest is the earliest moment at which the victims may have died.
func (d *Death) Earliest() history.Offset { return max(d.from, d.answered.At) }

// latest is the latest moment at which the victims may have died.
func (d *Death) latest() history.Offset {
	at := max(d.seen, d.Earliest())
	if d.failed.OK {
		at = min(at, d.failed.At)
	}
	return at
}

// Since describes Earliest.
func (d *Death) Since() string {
	if d.answered.OK {
		return "the victims of " + d.name + " had last answered"
	}
	return d.name + " began"
}

// ofPods are the outages of a fault of a recording that ended pods, or restarted their containers, while their nodes stayed. The control plane knows of
// each as soon as it is reported, so it has what is promised, or else only the time that proxies need, and not that of a lost node: from when it may have
// happened until the pod was reported as not ready, or restarted, and the limit later.
func ofPods(f *evidence.Run, fault *timeline.FaultLife, limit time.Duration) (list []*Outage) {
	within := func(at history.Offset) bool { return at >= fault.Injecting.At && at <= fault.Seen.At }
	add := func(pods []string, from, noticed history.Offset) {
		noticed = min(noticed, from+maxOutage)
		d := &Death{name: fault.Name, from: max(0, from), seen: noticed, pods: pods, until: noticed + limit}
		d.limit = d.until - d.from
		list = append(list, &Outage{name: d.name, From: d.from, To: d.until, deaths: []*Death{d}, clock: f.ClockError()})
	}
	for _, p := range f.Timeline().Pods {
		if !slices.Contains(fault.Pods, p.Name) {
			continue
		}
		began := p.EndBegan()
		if p.Evicted.OK {
			began = min(began, p.Evicted.At)
		}
		if within(began) {
			add([]string{p.Name}, began-evidence.Lookback, noticed(p, began))
		}
		for _, d := range p.Downtimes {
			if within(d.From) {
				add([]string{p.Name}, d.From, noticed(p, d.From))
			}
		}
	}
	if len(list) == 0 {
		add(fault.Pods, fault.Seen.At-evidence.Lookback, fault.Seen.At)
	}
	return list
}

// noticed is when a pod was first reported as not ready, or as restarted, from a moment on; without such a report, the moment.
func noticed(p *timeline.Pod, from history.Offset) history.Offset {
	before, _ := p.Reports.At(from - 1)
	for _, r := range p.Reports {
		if r.At >= from && (!timeline.Healthy(r.Value) || r.Value.Ended() || before != nil && r.Value.Restarts > before.Restarts) {
			return r.At
		}
	}
	return from
}
