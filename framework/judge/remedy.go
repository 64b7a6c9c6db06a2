package judge

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Remedy is a change of the workload that takes away why a promise was broken.
type Remedy struct {
	// Rule is the audit's rule whose finding is fixed; empty: no patch is known, and Why says what to change.
	Rule string `json:"rule,omitempty"`
	// Why says which failures it is for.
	Why string `json:"why"`
	// Commands are the fix as commands for a shell, and Fix as data, a list of audit.Step.
	Commands []string        `json:"commands,omitempty"`
	Fix      json.RawMessage `json:"fix,omitempty"`
	// Proof is what came of running the scenario again with the fix; empty: that was not done, and the remedy is a guess.
	Proof string `json:"proof,omitempty"`
}

// cure is what takes away a cause.
type cure struct {
	cause  attribution.Cause
	rules  []string // of the audit, the first that has a finding with a fix
	advice string   // where no rule has one; empty: another cure of the cause has it
	// kept is the advice for failures on kept connections, where the rules do not help; empty: they do. A preStop sleep ends before the server is told to
	// end, and new connections no longer come to it by then. On kept ones its clients go on asking.
	kept string
}

// cures are in the order in which they should be tried: what loses most requests in practice first.
var cures = []cure{
	{cause: attribution.CauseLateEndpoint, rules: []string{"no-prestop"}, advice: "let the server serve for some seconds after SIGTERM, or give its container a preStop sleep"},
	{cause: attribution.CauseFrontEndedFirst, rules: []string{"no-prestop"}, advice: "give the container in front a preStop sleep that lasts as long as the application's"},
	{cause: attribution.CauseLateWithdrawal, rules: []string{"no-prestop"}, advice: "let the server serve for some seconds after SIGTERM, or give its container a preStop sleep"},
	{cause: attribution.CauseOfferedUnready, rules: []string{"offers-unready-pods"}, advice: "let clients use a Service without publishNotReadyAddresses"},
	{cause: attribution.CauseForeignPod, advice: "let the Service select a label that only the pods of its own workload have"},
	{cause: attribution.CauseReadyTooEarly, rules: []string{"no-readiness-probe"}, advice: "give the container a readiness probe that succeeds only when it serves"},
	{attribution.CauseCutAtSIGTERM, []string{"no-prestop"}, finishes, finishes},
	{attribution.CauseCutAtEnd, []string{"no-prestop"}, asksToLeave, asksToLeave},
	{attribution.CauseCutWhileEnding, []string{"no-prestop"}, finishesAndAsks, finishesAndAsks},
	{cause: attribution.CauseAppEndedFirst, rules: []string{"no-prestop"}, advice: "let the container in front close its connections while its preStop hook runs, or let the application serve until it has"},
	{attribution.CauseBadAnswerEnding, []string{"no-prestop"}, "let the server go on answering well until it ends, or give its container a preStop sleep", "let the server go on answering well until it ends"},
	{cause: attribution.CauseKilled, rules: []string{"short-grace-period"}, advice: "make terminationGracePeriodSeconds longer than the preStop hook and the longest request together"},
	{cause: attribution.CauseCutAtSIGTERM, rules: []string{"short-grace-period"}}, // what SIGKILL cuts two seconds after SIGTERM
	{cause: attribution.CauseCutAtEnd, rules: []string{"short-grace-period"}},
	{cause: attribution.CauseCutWhileEnding, rules: []string{"short-grace-period"}},
	{cause: attribution.CauseOutageUnready, advice: "let the readiness probe ask only what belongs to its own pod, not what all pods share"},
	{cause: attribution.CauseOutageUnready, rules: []string{"single-replica"}, advice: "or run a second replica of what it asks"},
	{cause: attribution.CauseOutageUnended, advice: "find out why the pods that are left do not answer: their logs and events are with the record"},
	{cause: attribution.CauseOutageEviction, rules: []string{"no-budget", "single-replica"}, advice: "run at least two replicas, with a disruption budget"},
	{cause: attribution.CauseOutageDeletion, rules: []string{"recreates-all-pods", "single-replica"}, advice: "run at least two replicas, and let a rollout start new pods before it ends old ones (maxUnavailable 0)"},
	{cause: attribution.CauseOutageDeletion, rules: []string{"single-replica"}}, // of one that recreates all pods as well
	{cause: attribution.CauseOutageNodeLost, rules: []string{"one-node", "one-zone", "single-replica"}, advice: "spread the replicas over nodes and zones"},
}

// The practices without which kept connections lose requests.
const (
	finishes        = "let the server finish its requests at SIGTERM, or end it by a preStop hook with the signal at which it does"
	asksToLeave     = "let the server ask its clients to leave (Connection: close, or GOAWAY) before it ends, within its grace period"
	finishesAndAsks = "let the server finish its requests and ask its clients to leave before it ends"
)

// drainCure is for a drain that left pods on its node.
var drainCure = cure{rules: []string{"budget-blocks-drains", "single-replica"}, advice: "a disruption budget must allow at least one disruption while all pods are healthy"}

// rolloutCure is for a rollout that does not come to its end because a new pod has no place, and startCure for another one.
var (
	rolloutCure = cure{rules: []string{"unmeetable-anti-affinity", "no-room-to-surge", "quota-stops-rollout"},
		advice: "let a rollout end an old pod before it starts a new one (strategy.rollingUpdate: maxUnavailable 1, maxSurge 0), or make room for one pod more"}
	startCure = cure{advice: "mend what Kubernetes says of the new pod, which the verdict and the pods' logs have"}
)

// Remedies are the changes that take away the causes of broken promises: fixes that the audit found for the workload under test, or
// advice. A record without an audit of its workload has none.
func Remedies(run history.Run, verdicts []verdict.Verdict) (list []Remedy) {
	found := Audited(run)
	if found == nil {
		return nil
	}
	add := func(c cure, why string) {
		r := c.remedy(found, why)
		if r.Rule == "" && c.advice == "" {
			return
		}
		if !slices.ContainsFunc(list, func(other Remedy) bool { return other.Rule == r.Rule && (r.Rule != "" || other.Why == r.Why) }) {
			list = append(list, r)
		}
	}
	for _, v := range verdicts {
		if v.Outcome != verdict.Violated {
			continue
		}
		for _, c := range cures {
			failed, kept := v.Numbers[attribution.CauseNumber+string(c.cause)], v.Numbers[attribution.KeptNumber+string(c.cause)]
			if failed > kept || failed > 0 && c.kept == "" {
				add(c, c.why())
			}
			if kept > 0 && c.kept != "" {
				add(cure{advice: c.kept}, c.why())
			}
		}
		if v.Kind == invariant.Kind(invariant.DrainCompletes{}) {
			add(drainCure, "a drain left pods on its node")
		}
		switch {
		case v.Kind != invariant.Kind(invariant.RolloutCompletes{}):
		case v.Numbers[invariant.NoRoomNumber] > 0:
			add(rolloutCure, "a rollout did not come to its end, because a new pod has no place")
		default:
			add(startCure, "a rollout did not come to its end")
		}
	}
	return list
}

// why says which failures the cure is for.
func (c cure) why() string {
	if strings.HasPrefix(string(c.cause), "outage") { // its words are a sentence
		return c.cause.Words()
	}
	return "requests were " + c.cause.Words()
}

// Audited are the findings of the first audit of a record; nil: there was none.
func Audited(run history.Run) []history.Finding {
	for _, e := range run.Events {
		if e.Audit != nil {
			return e.Audit.Findings
		}
	}
	return nil
}

// remedy is the fix of the first rule that has one, or advice.
func (c cure) remedy(found []history.Finding, why string) Remedy {
	for _, rule := range c.rules {
		for _, f := range found {
			if f.Rule == rule && len(f.Fix) > 0 {
				return Remedy{Rule: rule, Why: why, Commands: f.Commands, Fix: f.Fix}
			}
		}
	}
	return Remedy{Why: why + ": " + c.advice}
}

// Title is how far the remedy is to be trusted.
func (r Remedy) Title() string {
	switch {
	case r.Proof != "":
		return "remedy, tried (" + r.Proof + ")"
	case len(r.Fix) > 0:
		return "remedy, not tried"
	}
	return "advice"
}

// About is the remedy without its commands: "no-prestop: requests were ...".
func (r Remedy) About() string {
	if r.Rule == "" {
		return r.Why
	}
	return r.Rule + ": " + r.Why
}

// String is the remedy in a line, with its commands.
func (r Remedy) String() string {
	if len(r.Commands) == 0 {
		return r.About()
	}
	return r.About() + ": " + strings.Join(r.Commands, " && ")
}

// Fixes joins the fixes of several remedies into one list of steps; nil: none has a fix.
func Fixes(remedies []Remedy) (steps []json.RawMessage, rules []string) {
	for _, r := range remedies {
		var some []json.RawMessage
		if json.Unmarshal(r.Fix, &some) != nil || len(some) == 0 {
			continue
		}
		steps, rules = append(steps, some...), append(rules, cmp.Or(r.Rule, "?"))
	}
	return steps, rules
}
