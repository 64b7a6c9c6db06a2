package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// DeletePods deletes pods by hand, which no budget prevents.
var DeletePods = scenario.Describe(scenario.Spec{
	Name:  "chaos/delete-pods",
	Claim: "deleting two of six pods at once is invisible to clients, and the workload has fully recovered within 15 s of their deletion",
	Backend: workloads.Backend{
		ServiceTime: 300 * time.Millisecond, // so that about five requests are in flight on each pod when it gets SIGTERM
		GracePeriod: 12 * time.Second,       // leaves 7 s for a graceful shutdown, which takes two; mutants that do not exit use all of it
	},
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.PodDelete{Count: 2}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		// A pod starts in 2 s. A deleted pod terminates in 5 s, or is killed after 12.
		invariant.RecoversWithin{Workload: "backend", Limit: 15 * time.Second, FromFault: true},
	},
})

// ConnectionsOutliveThePod keeps long-lived connections open until the process exits, which cuts them. Its server sets a trap:
// before it exits it waits up to a second for a request that it can cut. See mutants/connections-outlive-the-pod-untrapped.
var ConnectionsOutliveThePod = scenario.Mutate(DeletePods, scenario.Mutation{
	Name:     "mutants/connections-outlive-the-pod",
	Removed:  "asking clients to leave their long-lived connections before the pod ends",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneReused}, // new connections stopped during the preStop sleep
	Cause:    attribution.CauseCutAtEnd,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Hold },
})

// ConnectionsOutliveThePodUntrapped is mutants/connections-outlive-the-pod without its trap: it exits when its time is over,
// and cuts the requests in flight at that moment.
var ConnectionsOutliveThePodUntrapped = scenario.Mutate(DeletePods, scenario.Mutation{
	Name:     "mutants/connections-outlive-the-pod-untrapped",
	Removed:  "asking clients to leave their long-lived connections before the pod ends (by a server that sets no trap)",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneReused}, // as in mutants/connections-outlive-the-pod
	Cause:    attribution.CauseCutAtEnd,
	ByChance: true, // a request must be in flight when the pod exits
	Break: func(s *scenario.Spec) {
		s.Backend.AtTerm = workloads.HoldUntrapped
		s.Full = true
	},
})

// DropsAtSIGTERM exits at once and cuts the requests in flight. Its server sets a trap: before it exits it waits up to a second
// for a request that it can cut. See mutants/drops-at-sigterm-untrapped.
var DropsAtSIGTERM = scenario.Mutate(DeletePods, scenario.Mutation{
	Name:     "mutants/drops-at-sigterm",
	Removed:  "finishing the requests in flight at SIGTERM",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneReused}, // new connections stopped during the preStop sleep
	Cause:    attribution.CauseCutAtSIGTERM,
	Break:    func(s *scenario.Spec) { s.Backend.AtTerm = workloads.Drop },
})

// DropsAtSIGTERMUntrapped is mutants/drops-at-sigterm without its trap: it exits at once, and cuts the requests in flight at
// that moment.
var DropsAtSIGTERMUntrapped = scenario.Mutate(DeletePods, scenario.Mutation{
	Name:     "mutants/drops-at-sigterm-untrapped",
	Removed:  "finishing the requests in flight at SIGTERM (by a server that sets no trap)",
	CaughtBy: invariant.NoFailedRequests{},
	Lanes:    []history.Lane{history.LaneReused}, // as in mutants/drops-at-sigterm
	Cause:    attribution.CauseCutAtSIGTERM,
	ByChance: true, // a request must be in flight when the pod exits
	Break: func(s *scenario.Spec) {
		s.Backend.AtTerm = workloads.DropUntrapped
		s.Full = true
	},
})

// SlowStart has its lost pods replaced, but the replacements take too long to become ready.
var SlowStart = scenario.Mutate(DeletePods, scenario.Mutation{
	Name:     "mutants/slow-start",
	Removed:  "a start that is faster than the promised recovery",
	CaughtBy: invariant.RecoversWithin{},
	Reason:   judge.StartsLate,
	// The limit is 15 s from the deletion, and no replacement is ready before 28 s.
	Break: func(s *scenario.Spec) { s.Backend.StartDelay, s.About = 28*time.Second, 70*time.Second },
})

// SlowWhileItEnds answers every request to the end, but slowly on its open connections after SIGTERM, like a server that closes
// its caches and its own connections first. No client times out.
var SlowWhileItEnds = scenario.Mutate(DeletePods, scenario.Mutation{
	Name:     "mutants/slow-while-it-ends",
	Removed:  "answering at the usual speed until the end",
	CaughtBy: invariant.AnswersWithin{},
	Reason:   judge.SlowEnding,
	Lanes:    []history.Lane{history.LaneReused}, // new connections no longer reach the pod
	Break: func(s *scenario.Spec) {
		s.Backend.EndingTime = 2500 * time.Millisecond // clients wait for 3 s
	},
})
