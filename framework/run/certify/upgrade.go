package certify

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// upgradeOf is what a run of an upgrade found, in the scenario with this name.
func upgradeOf(f *storedRun, name string) certificate.Upgrade {
	u := certificate.Upgrade{Side: f.side(name, "", ""), Steps: []certificate.Step{}, Budgets: []certificate.Budget{}, WatchGaps: []certificate.Gap{}}
	run, ok := f.open(cmp.Or(f.listed[name].Dir, name))
	if !ok || run.Header.Scenario != name {
		return u
	}
	u.Scenario = name
	for i := range f.report.Scenarios {
		if s := &f.report.Scenarios[i]; s.Name == name {
			u.TookSeconds = time.Duration(s.Took).Seconds()
		}
	}
	u.Steps = steps(run)
	budgets := make(map[history.Key]int) // in u.Budgets
	for i := range run.Events {
		takeEvent(&u, &run.Events[i], budgets)
	}
	switch {
	case u.Verdict != reports.Held:
	case len(u.Steps) == 0:
		u.Verdict, u.Why = reports.Unknown, "its record has no step of the upgrade"
	case u.Requests == 0:
		u.Verdict, u.Why = reports.Unknown, "no request was sent during the upgrade"
	case run.Header.Recorded != nil:
		if why := VersionsOf(run).incomplete(); why != "" {
			u.Verdict, u.Why = reports.Unknown, why
		}
	}
	return u
}

// takeEvent adds what an event says about evictions, budgets and gaps.
func takeEvent(u *certificate.Upgrade, e *history.Event, budgets map[history.Key]int) {
	switch {
	case e.Eviction != nil && e.Eviction.Accepted:
		u.Evictions.Accepted++
	case e.Eviction != nil:
		u.Evictions.Refused++
	case e.Gap != nil:
		u.WatchGaps = append(u.WatchGaps, certificate.Gap{
			What: e.Gap.What, FromSeconds: e.Gap.Since.Seconds(), ToSeconds: e.T.Seconds(), Why: e.Gap.Why,
		})
	case e.Budget != nil && e.Budget.Observed && e.Budget.ExpectedPods > 0:
		b := e.Budget
		key := history.Key{Namespace: b.Namespace, Name: b.Name}
		i, known := budgets[key]
		if !known {
			i = len(u.Budgets)
			budgets[key] = i
			u.Budgets = append(u.Budgets, certificate.Budget{Namespace: b.Namespace, Name: b.Name, LeastHealthy: b.CurrentHealthy, DesiredHealthy: b.DesiredHealthy})
		}
		told := &u.Budgets[i]
		told.MinAvailable, told.MaxUnavailable = b.MinAvailable, b.MaxUnavailable
		if b.CurrentHealthy-b.DesiredHealthy < told.LeastHealthy-told.DesiredHealthy {
			told.LeastHealthy, told.DesiredHealthy = b.CurrentHealthy, b.DesiredHealthy
		}
	}
}

// steps are the steps of an upgrade, with the requests that were sent during each.
func steps(run history.Run) []certificate.Step {
	lives := append(timeline.Steps(run), recordedSteps(run)...)
	list := make([]certificate.Step, len(lives))
	var end history.Offset
	if n := len(run.Events); n > 0 {
		end = run.Events[n-1].T
	}
	for i, l := range lives {
		from, to := l.Begin.At, l.End.At
		result := certificate.StepDone
		switch {
		case l.Error != "":
			result = certificate.StepFailed
		case !l.End.OK || !l.Begin.OK:
			result = certificate.StepNotEnded
		}
		if !l.Begin.OK {
			from = to
		}
		if !l.End.OK {
			to = end
		}
		lives[i].Begin.At, lives[i].End.At = from, to
		list[i] = certificate.Step{
			ID: l.ID, What: l.What, Node: l.Node, From: l.From, To: l.To, BeganSeconds: from.Seconds(),
			TookSeconds: max(0, to-from).Seconds(), Result: result, Error: l.Error,
		}
	}
	if len(list) > 0 && run.Requests != nil {
		countRequests(run, lives, list)
	}
	return list
}

// countRequests counts the requests that were sent during each step. An error ends the count; the verdicts report it.
func countRequests(run history.Run, lives []timeline.StepLife, list []certificate.Step) {
	for r, err := range run.Requests() {
		if err != nil {
			return
		}
		if r.Lane == history.LaneControl || r.Outcome == history.Unsent {
			continue
		}
		for i := range lives {
			if r.Sent >= lives[i].Begin.At && r.Sent < lives[i].End.At {
				list[i].Requests++
				if r.Outcome.Failed() {
					list[i].Failed++
				}
			}
		}
	}
}

// firstUnfinished is the first step that failed or did not end; nil if all steps are done.
func firstUnfinished(u *certificate.Upgrade) *certificate.Step {
	i := slices.IndexFunc(u.Steps, func(s certificate.Step) bool { return s.Result != certificate.StepDone })
	if i < 0 {
		return nil
	}
	return &u.Steps[i]
}
