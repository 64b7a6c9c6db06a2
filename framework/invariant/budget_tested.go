package invariant

import "fmt"

// test notes that an eviction put a budget to the test: it left no more healthy pods than are demanded, so that one more
// would have broken it, and the budget's status allowed none. A disruption controller that allows everything never says
// so, and of one that is not asked more of than it has nobody knows what it would refuse. The promise's own demand has no
// status.
func (l *budgetLedger) test(a asked, d *demand, left remaining, desired int) {
	if left.recorded > desired || !d.own && !d.blocked(a.since-watchSkew, a.at+watchSkew) {
		return
	}
	d.tested = true
	line := fmt.Sprintf("%s was put to the test at %s: %s left, %d demanded", d.words, moment(a.at), count(left.recorded, "healthy pod"), desired)
	if !d.own {
		line += ", and its status allowed no eviction"
	}
	l.tests = append(l.tests, line)
}

// untested doubts budgets under which evictions were asked for and that had nothing to refuse. The promise's own demand
// stands for a budget where there is none.
func (l *budgetLedger) untested(v *Verdict) (d doubts) {
	var asked, untested []*demand
	readable := true
	for _, one := range l.demands {
		readable = readable && one.broken == ""
		if one.asked && (!one.own || len(l.demands) == 1) {
			asked = append(asked, one)
			if !one.tested {
				untested = append(untested, one)
			}
		}
	}
	v.measure("testedBudgets", float64(len(asked)-len(untested)))
	v.measure("untestedBudgets", float64(len(untested)))
	if len(asked) == 0 && readable && l.accepted+l.refused > 0 {
		d.add("no budget was tested: none demanded a pod when evictions were asked for")
	}
	for _, one := range untested {
		if one.own {
			d.add("%s was not tested: no eviction that was accepted left as few healthy pods as it demands", one.words)
			continue
		}
		d.add("%s was not tested: it refused no eviction when its status allowed none, and no eviction that was accepted left as few "+
			"healthy pods as it demands, with a status that allowed no more", one.words)
	}
	return d
}
