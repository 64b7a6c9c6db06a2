package budget

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// test notes that an eviction put a budget to the test: it left no more healthy pods than are demanded, so one more eviction would
// have broken the demand, and the budget's status allowed none. A disruption controller that allowed everything would never report
// that status, and what was never requested was never refused. The promise's own demand has no status.
func (l *Ledger) test(a Asked, d *Demand, left remaining, desired int) {
	if left.recorded > desired || !d.own && !d.Blocked(a.since-evidence.WatchSkew, a.At+evidence.WatchSkew) {
		return
	}
	d.tested = true
	line := fmt.Sprintf("%s was put to the test at %s: %s left, %d demanded", d.Words, prose.Moment(a.At), prose.Count(left.recorded, "healthy pod"), desired)
	if !d.own {
		line += ", and its status allowed no eviction"
	}
	l.Tests = append(l.Tests, line)
}

// Untested reports budgets under which evictions were requested and which had no reason to refuse one. The promise's own demand
// takes the place of a budget if there is none.
func (l *Ledger) Untested(v *verdict.Verdict) (d verdict.Missing) {
	var asked, untested []*Demand
	readable := true
	for _, one := range l.Demands {
		readable = readable && one.Broken == ""
		if one.asked && (!one.own || len(l.Demands) == 1) {
			asked = append(asked, one)
			if !one.tested {
				untested = append(untested, one)
			}
		}
	}
	v.Measure("testedBudgets", float64(len(asked)-len(untested)))
	v.Measure("untestedBudgets", float64(len(untested)))
	if len(asked) == 0 && readable && l.Accepted+l.Refused > 0 {
		d.Add("no budget was tested: none demanded a pod when evictions were asked for")
	}
	for _, one := range untested {
		if one.own {
			d.Add("%s was not tested: no eviction that was accepted left as few healthy pods as it demands", one.Words)
			continue
		}
		d.Add("%s was not tested: it refused no eviction when its status allowed none, and no eviction that was accepted left as few "+
			"healthy pods as it demands, with a status that allowed no more", one.Words)
	}
	return d
}
