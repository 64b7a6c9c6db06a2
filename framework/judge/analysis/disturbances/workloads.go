package disturbances

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
)

// ofWorkloads are the rollouts and the changes of the number of replicas.
func (x *facts) ofWorkloads() (list []Disturbance) {
	keys := slices.SortedFunc(maps.Keys(x.workloads), func(a, b history.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, key := range keys {
		w := x.workloads[key]
		for _, c := range w.changes {
			if c.template {
				list = append(list, x.rollout(w, c))
			}
			if c.scaled {
				list = append(list, x.scale(w, c))
			}
		}
		list = append(list, x.unannounced(w)...)
	}
	return list
}

// ofWorkload are the pods of a workload that left for a cause within a time.
func (x *facts) ofWorkload(key history.Key, cause spread.Cause, from, to history.Offset) []*departure {
	return slices.DeleteFunc(slices.Clone(x.departures), func(d *departure) bool {
		return d.used || d.workload != key || d.cause != cause || d.At < from-evidence.WatchSkew || d.At >= to
	})
}

// rollout is what a change of the pod template did, until the next one.
func (x *facts) rollout(w *workload, c *revise) Disturbance {
	pods := use(x.ofWorkload(w.key, spread.ByRollout, c.at, c.nextTemplate), nil)
	d := Disturbance{
		Kind: Rollout, Name: "the rollout of " + parts.Name(w.key), From: c.at, Pods: pods, Workloads: []history.Key{w.key},
		Words: fmt.Sprintf("%s was rolled out at %s", parts.Name(w.key), prose.Moment(c.at)),
	}
	lasts := c.at + 1
	if len(pods) > 0 {
		lasts = max(lasts, last(pods)+1)
		d.From = min(d.From, first(pods))
		d.Words += fmt.Sprintf(": %s replaced until %s", prose.Count(len(pods), "pod"), prose.Moment(last(pods)))
	} else {
		d.Words += ": no pod was ended"
	}
	d.Over, d.Seen, d.Told = lasts, lasts, lasts
	if c.nextTemplate > x.end && !w.settled {
		d.Open, d.Over = true, max(x.end, lasts)
		d.Words += ", and it was not complete when the record ended"
	}
	return d
}

// scale is what another number of replicas did, until the next one.
func (x *facts) scale(w *workload, c *revise) Disturbance {
	pods := use(x.ofWorkload(w.key, spread.ByScaleDown, c.at, c.nextScale), nil)
	d := Disturbance{
		Kind: Scale, Name: "the scaling of " + parts.Name(w.key), From: c.at, Pods: pods, Workloads: []history.Key{w.key},
		Words: fmt.Sprintf("%s was scaled from %d to %d at %s", parts.Name(w.key), c.was.Replicas, c.is.Replicas, prose.Moment(c.at)),
	}
	lasts := c.at + 1
	if len(pods) > 0 {
		lasts = max(lasts, last(pods)+1)
		d.From = min(d.From, first(pods))
		d.Words += fmt.Sprintf(": %s ended until %s", prose.Count(len(pods), "pod"), prose.Moment(last(pods)))
	} else if n, from, until := w.born(c); n > 0 {
		d.From, lasts = min(d.From, from), max(lasts, until+1)
		d.Words += fmt.Sprintf(": %s created until %s", prose.Count(n, "pod"), prose.Moment(until))
	}
	d.Over, d.Seen, d.Told = lasts, lasts, lasts
	return d
}

// born counts the pods that were created because of a scale-up: as many as it asked for, before the next change.
func (w *workload) born(c *revise) (n int, from, until history.Offset) {
	from = c.at
	for _, at := range w.births {
		if at >= c.at-evidence.WatchSkew && at < min(c.nextScale, c.nextTemplate) && n < c.is.Replicas-c.was.Replicas {
			n, from, until = n+1, min(from, at), at
		}
	}
	return n, from, until
}

// together is how far apart pods may end of which nothing says that they ended for one reason.
const together = 30 * time.Second

// unannounced are pods that left for a rollout or a scale-down of which the record has no beginning, as in older records, or because a
// watch had missed it: each run of them that are close together.
func (x *facts) unannounced(w *workload) (list []Disturbance) {
	for cause, kind := range map[spread.Cause]Kind{spread.ByRollout: Rollout, spread.ByScaleDown: Scale} {
		for _, pods := range runs(x.ofWorkload(w.key, cause, 0, x.end+1), 10*together) {
			d := plain(kind, w.key, use(pods, nil))
			switch kind {
			case Rollout:
				d.Name = "the rollout of " + parts.Name(w.key)
				d.Words = fmt.Sprintf("%s was rolled out: %s replaced %s", parts.Name(w.key), prose.Count(len(pods), "pod"), span(d.Pods))
			default:
				d.Name = "the removal of surplus pods of " + parts.Name(w.key)
				d.Words = fmt.Sprintf("%s of %s ended %s", prose.Count(len(pods), "surplus pod"), parts.Name(w.key), span(d.Pods))
			}
			list = append(list, d)
		}
	}
	return sorted(list)
}

// runs splits departures, or restarts, where more than a time lies between two of them.
func runs[T interface{ moment() history.Offset }](all []T, apart time.Duration) (list [][]T) {
	for i, one := range all {
		if i == 0 || one.moment()-all[i-1].moment() > apart {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], one)
	}
	return list
}

// plain is a disturbance that is known by its pods alone.
func plain(kind Kind, key history.Key, pods []Pod) Disturbance {
	d := Disturbance{Kind: kind, Pods: pods, From: kind.since(first(pods)), Seen: last(pods) + 1, Over: last(pods) + 1, Told: last(pods)}
	if key != (history.Key{}) {
		d.Workloads = []history.Key{key}
	}
	return d
}

// since is when something that was first reported at a moment may have begun.
func (k Kind) since(reported history.Offset) history.Offset {
	if k.Voluntary() {
		return reported
	}
	return max(0, reported-evidence.Lookback)
}

// span is the time of some pods: "at 12s", "from 12s to 14s".
func span(pods []Pod) string {
	if first(pods) == last(pods) {
		return "at " + prose.Moment(first(pods))
	}
	return "from " + prose.Moment(first(pods)) + " to " + prose.Moment(last(pods))
}
