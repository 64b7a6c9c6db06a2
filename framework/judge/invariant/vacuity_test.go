package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// goodRecord is one in which a promise is held.
type goodRecord struct {
	promise invariant.Invariant
	run     func() *ht.Builder
}

// judge a record that was made from it.
func (g goodRecord) judge(b *ht.Builder) verdict.Verdict {
	if invariant.Kind(g.promise) == "SharesLoad" { // its requests are not in the builder
		return judge.Check(dealt(idle(b), fair(1)), g.promise)
	}
	return judge.Check(b.Run(), g.promise)
}

// kept is, of every kind of promise, a record in which it is held.
func kept() map[string]goodRecord {
	restored := func() *ht.Builder {
		return unbalanced(func(s *stepped) {
			s.at = 20 * second
			s.to("w3", "w4", "w5", "w6", "w1", "w2")
		})
	}
	resized := func() *ht.Builder {
		return resizing(func(pod func(history.Offset, int, string, int)) {
			for i := range 6 {
				pod(20*second, i+1, "20m", 0)
				pod(42*second, i+1, "5m", 0)
			}
		})
	}
	zones := func() *ht.Builder { return newStepped().to("w1", "w3", "w5").Builder }
	trials := func() *ht.Builder { return inTrials(even(), rolledTo("w2", "w4", "w6")) }
	together := func() *ht.Builder {
		return inTrials(newStepped().to("w1", "w3"), newStepped().to("w5", "w6"))
	}
	return map[string]goodRecord{
		"NoFailedRequests":  {invariant.NoFailedRequests{}, ht.Healthy},
		"FewFailedRequests": {invariant.FewFailedRequests{AtMost: 3}, ht.Healthy},
		"FailuresEndWithin": {invariant.FailuresEndWithin{}, ht.Healthy},
		"BudgetHonoured":    {invariant.BudgetHonoured{}, ht.Healthy},
		"DrainBlocked":      {invariant.DrainBlocked{}, blocked},
		"DrainCompletes":    {invariant.DrainCompletes{}, ht.Healthy},
		"RolloutCompletes":  {invariant.RolloutCompletes{}, func() *ht.Builder { return updating(replaceAll) }},
		"Spread":            {invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1}, zones},
		"SpreadWithin": {invariant.SpreadWithin{Workload: "backend", TopologyKey: ht.ZoneLabel, Max: 1, Limit: 20 * second},
			restored},
		"SpreadTrials":   {invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1}, trials},
		"SpreadTogether": {invariant.SpreadTogether{TopologyKey: ht.ZoneLabel, Max: 1}, together},
		"PerDomain":      {invariant.PerDomain{TopologyKey: ht.ZoneLabel, AtLeast: 1}, func() *ht.Builder { return inTrials(oneReplaced(true)) }},
		"Placed":         {invariant.Placed{}, func() *ht.Builder { return scaledTo(0, true).Builder }},
		"RecoversWithin": {invariant.RecoversWithin{Limit: 30 * second}, ht.Healthy},
		"ReplacedWithin": {invariant.ReplacedWithin{Limit: 40 * second}, replaced},
		"Resumes":        {invariant.Resumes{Limit: 5 * second}, func() *ht.Builder { return stalled(53 * second) }},
		"ResizedInPlace": {invariant.ResizedInPlace{}, resized},
		"AuditMends": {invariant.AuditMends{Rules: []string{"no-prestop"}}, func() *ht.Builder {
			return audited([]string{"no-prestop"}, []string{})
		}},
		"PressureLeaves":   {invariant.PressureLeaves{AtLeast: 5, DespiteBudget: true}, squeezed},
		"PolicyEnforced":   {invariant.PolicyEnforced{}, func() *ht.Builder { return enforced() }},
		"AnswersWithin":    {invariant.AnswersWithin{}, ht.Healthy},
		"APIAnswersWithin": {invariant.APIAnswersWithin{Limit: 10 * second}, func() *ht.Builder { return beheaded() }},
		"QuietWithin":      {invariant.QuietWithin{Limit: 3 * second}, ht.Healthy},
		"SharesLoad":       {invariant.SharesLoad{AtLeast: 0.1, Lane: history.LaneReused, Within: within}, scaled},
		"Placement": {invariant.Placement{}, func() *ht.Builder {
			return newPlacing(spreadOver(overZones, "")).each("w1", "w3").Builder
		}},
	}
}

// lasting adds what the witness said just before the undo.
func lasting(b *ht.Builder, err string) *ht.Builder {
	for _, e := range b.Run().Events {
		if e.Fault != nil && e.Fault.Stage == history.Healing {
			b.Fault(e.T-ms, history.FaultMark{ID: e.Fault.ID, Name: e.Fault.Name, Stage: history.Lasting, Error: err})
		}
	}
	return b
}

// TestAFaultThatWasNotProvesNothing: whatever the promise, and however good all else looks, it is not held of a run whose
// fault no witness saw, or whose fault was over before the harness undid it.
func TestAFaultThatWasNotProvesNothing(t *testing.T) {
	spoils := map[string]func(*ht.Builder) *ht.Builder{
		"an injector that does nothing": func(b *ht.Builder) *ht.Builder {
			return b.EditEvents(func(e *history.Event) {
				if e.Fault != nil && e.Fault.Stage == history.Seen { // as the runner writes what Inject returns
					e.Fault = &history.FaultMark{ID: e.Fault.ID, Name: e.Fault.Name, Stage: history.Seen, Error: "waited 30s"}
				}
			})
		},
		"a witness that never saw it":          func(b *ht.Builder) *ht.Builder { return setStage(b, history.Seen, -1) },
		"a witness that no longer sees it":     func(b *ht.Builder) *ht.Builder { return lasting(b, "it was over before its revert began: gone") },
		"a witness that could not look":        func(b *ht.Builder) *ht.Builder { return lasting(b, "waited 30s for a look") },
		"a witness that never saw it healed":   func(b *ht.Builder) *ht.Builder { return setStage(b, history.Healed, -1) },
		"a heal that was seen before the undo": healsEarly,
		"no fault": func(b *ht.Builder) *ht.Builder {
			return b.DropEvents(func(e history.Event) bool { return e.Fault != nil })
		},
		"a fault of which only the end is told": func(b *ht.Builder) *ht.Builder { return setStage(setStage(b, history.Injecting, -1), history.Seen, -1) },
	}
	all := kept()
	for _, kind := range invariant.Kinds() {
		k, there := all[kind]
		if !there {
			t.Errorf("promise %s: there is no record in which it is held", kind)
			continue
		}
		t.Run(kind, func(t *testing.T) {
			for name, run := range map[string]*ht.Builder{"as it is": k.run(), "and its fault lasted": lasting(k.run(), "")} {
				if v := k.judge(run); v.Outcome != verdict.Held || invariant.Kind(k.promise) != kind {
					t.Errorf("%s, %s is %s: %s %q", name, v.Kind, v.Outcome, v.Seen, v.Evidence)
				}
			}
			for name, spoil := range spoils {
				if v := k.judge(spoil(k.run())); v.Outcome == verdict.Held {
					t.Errorf("%s: it is held: %s", name, v.Seen)
				}
			}
		})
	}
}

// healsEarly moves what was seen of the heal to the time between the bite and the undo.
func healsEarly(b *ht.Builder) *ht.Builder {
	var seen, healing history.Offset
	for _, e := range b.Run().Events {
		switch {
		case e.Fault == nil:
		case e.Fault.Stage == history.Seen:
			seen = e.T
		case e.Fault.Stage == history.Healing:
			healing = e.T
		}
	}
	return setStage(b, history.Healed, (seen+healing)/2)
}

// TestWhatTheWitnessSaidIsTold: the reason is in the verdict's own words.
func TestWhatTheWitnessSaidIsTold(t *testing.T) {
	v := judge.Check(lasting(ht.Healthy(), "it was over before its revert began: w1 is not cordoned").Run(), invariant.NoFailedRequests{})
	lines(t, v, "drain one worker went wrong: lasting: it was over before its revert began: w1 is not cordoned")
}
