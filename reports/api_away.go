package reports

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// APIAway is how long the API server was away while faults of the control plane were on: what is Kubernetes' own apart from what
// stands before several control planes.
type APIAway struct {
	// Balancer and Own are what was seen by the way that clients take, and by asking each API server that was left itself, until
	// the undo; and the others the same from then on.
	Balancer, Own                   AwayBy
	BalancerReturning, OwnReturning AwayBy

	whose string // load balancer
}

// AwayBy is what was seen by one way, or by several of the same sort: the worst of them, and all of their requests.
type AwayBy struct {
	Ways          int
	Asked, Failed int
	Away          time.Duration // the longest time without a good answer; through a balancer also that in which some had none
	Before        time.Duration // the same before the fault
}

// apiAwayOf reads what the faults have told.
func apiAwayOf(run history.Run) (a APIAway) {
	a.whose = "the load balancer"
	if run.Header.Cluster.Provider == "kind" {
		a.whose = "kind's load balancer"
	}
	if program := run.Header.Cluster.Balancer; program != "" {
		a.whose += " (" + program + ")"
	}
	for _, r := range run.Reaches() {
		if r.Way == history.Control {
			continue
		}
		by, returning, away := &a.Own, &a.OwnReturning, r.Longest
		if r.Way == history.Balanced {
			by, returning, away = &a.Balancer, &a.BalancerReturning, max(r.Longest, r.Failing)
		}
		if r.Returning {
			by = returning
		}
		by.Ways++
		by.Asked, by.Failed = by.Asked+r.Asked, by.Failed+r.Failed
		by.Away, by.Before = max(by.Away, away), max(by.Before, r.Before)
	}
	return a
}

// String says it in words; empty for a record that does not tell.
func (a APIAway) String() string {
	if a.Own.Ways == 0 || a.Balancer.Ways == 0 {
		return ""
	}
	text := fmt.Sprintf("through %s %s, Kubernetes' own %s", a.whose, a.Balancer, a.Own)
	if a.BalancerReturning.Ways > 0 && a.OwnReturning.Ways > 0 {
		text += fmt.Sprintf("; while what was taken came back %s and %s", brief(a.BalancerReturning.Away), brief(a.OwnReturning.Away))
	}
	return text
}

// String is a time, and on how many new connections it was seen.
func (b AwayBy) String() string {
	return fmt.Sprintf("%s (%s of %s new connections had no good answer; before the fault up to %s from one to the next)",
		brief(b.Away), count(uint64(b.Failed)), count(uint64(b.Asked)), brief(b.Before))
}
