package emit

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/audit"
)

// Defaults of Alerts.
const (
	// New is how long a single point of failure counts as new: one day, so that who looks every day sees it.
	New = 24 * time.Hour
	// Settle is longer than most rollouts take. What passes within it is told to nobody.
	Settle = 15 * time.Minute
	// Remember bridges the time in which one pod of the patrol is replaced by another.
	Remember = 5 * time.Minute
	// Blind is how old the last reading may be.
	Blind = 10 * time.Minute
)

// Alerts are the times of the alerting rules. Zero is the default. Tests make them short.
type Alerts struct {
	// Pending is how long pods may be Pending on a hard constraint; default audit.PendingLimit.
	Pending time.Duration
	// New is how long a single point of failure counts as new.
	New time.Duration
	// Settle is how long any other state must last before it is told.
	Settle time.Duration
	// Remember is for how long the last scrape of a series counts, so that alerts neither end nor begin anew because the patrol's pod is
	// replaced. A state that has ended is told so much later.
	Remember time.Duration
	// Blind is how old the last reading of the cluster may be.
	Blind time.Duration
}

func (a Alerts) withDefaults() Alerts {
	return Alerts{
		Pending: cmp.Or(a.Pending, audit.PendingLimit), New: cmp.Or(a.New, New), Settle: cmp.Or(a.Settle, Settle),
		Remember: cmp.Or(a.Remember, Remember), Blind: cmp.Or(a.Blind, Blind),
	}
}

// Validate returns an error for a time that no rule can have.
func (a Alerts) Validate() error {
	for flag, value := range map[string]time.Duration{"--alert-pending": a.Pending, "--alert-new": a.New} {
		if value != 0 && value < time.Second {
			return fmt.Errorf("%s %s: want at least 1s", flag, value)
		}
	}
	return nil
}

// ruleFile is a file of Prometheus' rules, and the spec of a PrometheusRule.
type ruleFile struct {
	Groups []group `json:"groups"`
}

type group struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// File returns the rules as a file for Prometheus' rule_files.
func (a Alerts) File() ([]byte, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	return yaml.Marshal(a.rules())
}

func (a Alerts) rules() ruleFile {
	a = a.withDefaults()
	return ruleFile{Groups: []group{{Name: "holdfast-patrol", Rules: []rule{
		a.podsPending(), a.skewed(), a.budgetBlocks(), a.newPointOfFailure(), a.blind(), a.cannotCheck(), a.seriesOmitted(),
	}}}}
}

// byWorkload are the labels that name a workload in an alert. The patrol's own pod is not among them, because it changes.
const byWorkload = "namespace, kind, workload"

// The rules of the audit that have alerts of their own.
const (
	ruleSkewed       = "soft-constraint-violated"
	ruleBudgetBlocks = "budget-blocks-drains"
)

// object names a workload in an alert's text.
const object = "{{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.workload }}"

// seeMore says where the evidence and the commands are.
const seeMore = " The patrol's page and `holdfast audit --namespace {{ $labels.namespace }}` show the evidence and the commands that fix it."

func alert(name, expr string, lasting time.Duration, summary, description string) rule {
	r := rule{
		Alert: name, Expr: expr, Labels: map[string]string{"severity": "warning"},
		Annotations: map[string]string{"summary": summary, "description": description},
	}
	if lasting > 0 {
		r.For = inPrometheus(lasting)
	}
	return r
}

// inPrometheus is a duration as Prometheus writes it.
func inPrometheus(d time.Duration) string { return model.Duration(d).String() }

// last is a selector of the last scrape of each series, also of a pod that has just gone.
func (a Alerts) last(selector string) string {
	return fmt.Sprintf("last_over_time(%s[%s])", selector, inPrometheus(a.Remember))
}

func (a Alerts) podsPending() rule {
	since := fmt.Sprintf("min by (%s) (%s)", byWorkload, a.last("holdfast_workload_constrained_pending_since_timestamp_seconds"))
	return alert("HoldfastPodsPendingOnConstraint", fmt.Sprintf("time() - %s > %g", since, a.Pending.Seconds()), 0,
		object+": pods have been Pending for {{ $value | humanizeDuration }} because of a hard constraint",
		"A topology spread constraint, affinity or node selector admits no node, so the workload has too few pods."+seeMore)
}

func (a Alerts) skewed() rule {
	return alert("HoldfastSkewBeyondSoftConstraint", a.found(ruleSkewed), a.Settle,
		object+": its pods are spread less evenly than its soft constraint prefers",
		"Nothing moves pods that run, so the skew stays until they are replaced. The metric holdfast_workload_skew has it by topology."+seeMore)
}

func (a Alerts) budgetBlocks() rule {
	return alert("HoldfastBudgetBlocksDrains", a.found(ruleBudgetBlocks), a.Settle,
		object+": its PodDisruptionBudget refuses every eviction",
		"A drain of a node with its pods never ends, so an upgrade stops there."+seeMore)
}

// found is true of workloads on which a rule of the audit finds something.
func (a Alerts) found(rule string) string {
	return fmt.Sprintf("max by (%s) (%s) > 0", byWorkload, a.last(fmt.Sprintf("holdfast_workload_finding{rule=%q}", rule)))
}

// newPointOfFailure compares with what was found in the time before, which only Prometheus remembers. It says nothing until there was a
// patrol that long ago: to a patrol that has just been installed, everything would be new.
func (a Alerts) newPointOfFailure() rule {
	const by = byWorkload + ", rule"
	finding := fmt.Sprintf(`holdfast_workload_finding{severity="error",rule!~"%s|%s"}`, audit.PendingRule, ruleBudgetBlocks)
	before := fmt.Sprintf("[%s] offset %s", inPrometheus(a.New), inPrometheus(a.New))
	expr := strings.Join([]string{
		fmt.Sprintf("(\n  max by (%s) (%s)", by, a.last(finding)),
		fmt.Sprintf("  unless\n  max by (%s) (present_over_time(%s%s))\n)", by, finding, before),
		fmt.Sprintf("and on ()\nmax(present_over_time(holdfast_audit_last_success_timestamp_seconds%s))", before),
	}, "\n")
	return alert("HoldfastNewSinglePointOfFailure", expr, a.Settle,
		object+": {{ $labels.rule }} is new",
		"This single point of failure was not there before. The alert ends with it, or after "+inPrometheus(a.New)+", when it is no longer new."+seeMore)
}

func (a Alerts) blind() rule {
	const success = "holdfast_audit_last_success_timestamp_seconds"
	return alert("HoldfastPatrolBlind", fmt.Sprintf("time() - max(%s) > %g or absent(%s)", success, a.Blind.Seconds(), success), a.Remember,
		"The holdfast patrol does not see the cluster",
		"It is away, is not scraped, or cannot read from the API server. Until it can, do not rely on its other alerts. Its log has the cause.")
}

func (a Alerts) cannotCheck() rule {
	return alert("HoldfastPatrolCannotCheck",
		fmt.Sprintf("max by (rule, reason) (%s) > 0", a.last("holdfast_audit_not_checked")), a.Settle,
		"The holdfast patrol cannot apply {{ $labels.rule }} everywhere: {{ $labels.reason }}",
		"Its page says where and why. If it may not read something, apply its role again. If a rule cannot decide, mend what it lacks, "+
			"or leave it out with --skip.")
}

func (a Alerts) seriesOmitted() rule {
	return alert("HoldfastPatrolSeriesOmitted", fmt.Sprintf("max(%s) > 0", a.last("holdfast_audit_omitted_series")), a.Settle,
		"The holdfast patrol leaves out {{ $value }} series",
		"Some workloads have no series, so no alert names them. Raise --max-series, or run a patrol for each of several namespaces.")
}
