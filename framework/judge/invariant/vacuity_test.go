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
		"SpreadWithin":      {invariant.SpreadWithin{Workload: "backend", TopologyKey: ht.ZoneLabel, Max: 1, Limit: 20 * second}, restored},
		"SpreadTrials":      {invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1}, trials},
		"SpreadTogether":    {invariant.SpreadTogether{TopologyKey: ht.ZoneLabel, Max: 1}, together},
		"PerDomain":         {invariant.PerDomain{TopologyKey: ht.ZoneLabel, AtLeast: 1}, func() *ht.Builder { return inTrials(oneReplaced(true)) }},
		"Placed":            {invariant.Placed{}, func() *ht.Builder { return scaledTo(0, true).Builder }},
		"RecoversWithin":    {invariant.RecoversWithin{Limit: 30 * second}, ht.Healthy},
		"ReplacedWithin":    {invariant.ReplacedWithin{Limit: 40 * second}, replaced},
		"Resumes":           {invariant.Resumes{Limit: 5 * second}, func() *ht.Builder { return stalled(53 * second) }},
		"ResizedInPlace":    {invariant.ResizedInPlace{}, resized},
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

// TestEachKindIsHeldOfARecord: a new kind needs a record in which it is held, or nothing attacks it.
func TestEachKindIsHeldOfARecord(t *testing.T) {
	all := kept()
	for _, kind := range invariant.Kinds() {
		k, there := all[kind]
		if !there || invariant.Kind(k.promise) != kind {
			t.Errorf("promise %s: there is no record in which it is held", kind)
			continue
		}
		if needs := k.promise.Needs(); len(needs.Parts) == 0 && !needs.Requests {
			t.Errorf("%s needs no more than every promise: %+v", kind, needs)
		}
		lasted := k.run()
		lasting(lasted, "")
		for _, b := range []*ht.Builder{k.run(), lasted} {
			if v := k.judge(b); v.Outcome != verdict.Held {
				t.Errorf("%s is %s: %s %q", v.Kind, v.Outcome, v.Seen, v.Evidence)
			}
		}
	}
}

// TestWhatTheWitnessSaidIsTold: the reason is in the verdict's own words.
func TestWhatTheWitnessSaidIsTold(t *testing.T) {
	b := ht.Healthy()
	lasting(b, "it was over before its revert began: w1 is not cordoned")
	lines(t, judge.Check(b.Run(), invariant.NoFailedRequests{}))
}
