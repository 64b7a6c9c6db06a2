package reports

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// APIAway is how long the API server was unavailable during faults of the control plane. It tells the load balancer in front of
// several control planes apart from Kubernetes itself.
type APIAway struct {
	Balancer AwayBy `json:"balancer"` // through the load balancer, as clients connect
	Own      AwayBy `json:"own"`      // by connections to each remaining API server; the worst of them
	// The same while the fault was reverted.
	BalancerReturning AwayBy `json:"-"`
	OwnReturning      AwayBy `json:"-"`

	balancer string // what it is called in words
}

// AwayBy is what new connections to one address saw, or to several of a kind: the worst of them, and the sum of their requests.
type AwayBy struct {
	// Away is the longest time without a good response. Through a load balancer it is also the time in which some responses failed.
	Away   Seconds `json:"awaySeconds"`
	Before Seconds `json:"beforeSeconds"` // the longest time from one good response to the next before the fault
	Asked  int     `json:"asked"`
	Failed int     `json:"failed"`

	addresses int
}

// apiAwayOf reads what the faults measured; nil unless both ways were.
func apiAwayOf(run history.Run) *APIAway {
	var a APIAway
	a.balancer = "the load balancer"
	if run.Header.Cluster.Provider == "kind" {
		a.balancer = "kind's load balancer"
	}
	if program := run.Header.Cluster.Balancer; program != "" {
		a.balancer += " (" + program + ")"
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
		by.addresses++
		by.Asked, by.Failed = by.Asked+r.Asked, by.Failed+r.Failed
		by.Away, by.Before = max(by.Away, Seconds(away)), max(by.Before, Seconds(r.Before))
	}
	if a.Own.addresses == 0 || a.Balancer.addresses == 0 {
		return nil
	}
	return &a
}

// String is the whole in words.
func (a *APIAway) String() string {
	text := fmt.Sprintf("through %s %s, Kubernetes' own %s", a.balancer, a.Balancer, a.Own)
	if a.BalancerReturning.addresses > 0 && a.OwnReturning.addresses > 0 {
		text += fmt.Sprintf("; while the fault was reverted %s and %s", words.Brief(a.BalancerReturning.Away), words.Brief(a.OwnReturning.Away))
	}
	return text
}

// String is a time, and on how many new connections it was seen.
func (b AwayBy) String() string {
	return fmt.Sprintf("%s (%s of %s new connections had no good answer; before the fault up to %s from one to the next)",
		words.Brief(b.Away), words.Count(uint64(b.Failed)), words.Count(uint64(b.Asked)), words.Brief(b.Before))
}
