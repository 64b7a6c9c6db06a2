package budget

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Timeline recomputes at each moment of a run how many pods were healthy and how many were demanded, and adds figures on which no
// verdict depends, since budgets apply to evictions only.
//
//   - "gone.eviction", "gone.deletion", "gone.lostNode" and so on: the healthy pods under a budget that left, by cause, as for
//     a skew; "gone.unready": those that stayed and became unready for a while. Pods of a lost node are not ready before
//     they are deleted, and count as gone.lostNode.
//   - "belowDemandSeconds": for how long fewer pods were healthy than demanded once Steady began, the sum over the budgets.
//   - "staleStatusSeconds": for how long a budget's status differed from the recomputed one, beyond the skew of the
//     record.
func (l *Ledger) Timeline(v *verdict.Verdict) {
	if len(l.Demands) == 0 {
		return
	}
	l.departures(v)
	from, to := max(l.Facts.Begin(), l.Facts.Phases[history.Steady].From), l.Facts.End()
	below, stale := 0*time.Second, 0*time.Second
	spans := make([]struct{ below, stale history.Offset }, len(l.Demands)) // since when; 0: not now
	finish := func(since *history.Offset, at history.Offset, atLeast time.Duration, sum *time.Duration) {
		if *since > 0 && at-*since > atLeast {
			*sum += at - *since
		}
		*since = 0
	}
	evidence.Moments(l.Facts.Record, func(at history.Offset, s *history.State) {
		if at < from || at >= to {
			return
		}
		for i, d := range l.Demands {
			healthy, demanded := len(s.ReadyPods(d.Chosen())), d.at(at, at).desired
			status, there := s.Budgets[d.Key]
			open(&spans[i].below, at, healthy < demanded, func() { finish(&spans[i].below, at, 0, &below) })
			differs := there && demanded >= 0 && (!status.Observed || status.CurrentHealthy != healthy || status.DesiredHealthy != demanded)
			open(&spans[i].stale, at, differs, func() { finish(&spans[i].stale, at, evidence.WatchSkew, &stale) })
		}
	})
	for i := range spans {
		finish(&spans[i].below, to, 0, &below)
		finish(&spans[i].stale, to, evidence.WatchSkew, &stale)
	}
	v.Measure("belowDemandSeconds", below.Seconds())
	v.Measure("staleStatusSeconds", stale.Seconds())
}

// open begins a span when a condition becomes true, and closes it when the condition becomes false.
func open(since *history.Offset, at history.Offset, is bool, finish func()) {
	switch {
	case !is:
		finish()
	case *since == 0:
		*since = at
	}
}

// departures counts by cause the healthy pods that left or became unready for a while.
func (l *Ledger) departures(v *verdict.Verdict) {
	why := spread.NewSkewLedger(l.Facts, "", evidence.Deployments(l.Facts.Record))
	from, to := l.Facts.Begin(), l.Facts.End()
	for _, e := range l.Facts.Objects {
		var was history.Pod
		if e.Pod != nil {
			was = why.State.Pods[e.Pod.UID]
		}
		why.State.Apply(e)
		if e.Pod == nil || !was.Ready || was.Deleting || e.T < from || e.T >= to || !l.covers(was) {
			continue
		}
		p := *e.Pod
		leaves := p.Change == history.Deleted || p.Deleting || p.Ended()
		if !leaves && p.Ready {
			continue
		}
		name := "gone.unready"
		switch {
		case l.Facts.Timeline().LostAt(p.Node, e.T+evidence.WatchSkew):
			name = "gone." + string(spread.ByLostNode)
		case leaves:
			by, _ := why.Left(e.T, p)
			name = "gone." + string(by)
		}
		v.Measure(name, v.Numbers[name]+1)
	}
}

// covers reports whether one of the demands applies to a pod.
func (l *Ledger) covers(p history.Pod) bool {
	return slices.ContainsFunc(l.Demands, func(d *Demand) bool { return len(d.Selector) > 0 && d.Chosen().Has(&p) })
}
