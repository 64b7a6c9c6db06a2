package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Format is the version of a Report's JSON. It changes when the name or meaning of a field does.
const Format = 1

// Report is what an audit found, and what it could not check.
type Report struct {
	Format     int          `json:"format"`
	Taken      time.Time    `json:"taken"`
	Workloads  int          `json:"workloads"` // that were audited
	Findings   []Finding    `json:"findings"`
	NotChecked []NotChecked `json:"notChecked"`
	// Skipped are the rules that the caller left out.
	Skipped []string `json:"skipped,omitempty"`
}

// Finding is one single point of failure.
type Finding struct {
	Rule      string   `json:"rule"`
	Severity  Severity `json:"severity"`
	Namespace string   `json:"namespace"`
	Kind      string   `json:"kind"`
	Name      string   `json:"name"`
	// Evidence is what was seen: numbers and names.
	Evidence string `json:"evidence"`
	// Fix are the steps of the fix, in order. None: no patch fixes the finding; see Caution.
	Fix []Step `json:"fix"`
	// Caution is what the steps cost, need or cannot do.
	Caution string `json:"caution,omitempty"`
}

// Object names a finding's workload in one word.
func (f Finding) Object() string { return f.Namespace + "/" + f.Kind + "/" + f.Name }

// Compare orders findings: the most severe first, then by their workloads.
func (f Finding) Compare(other Finding) int {
	return cmp.Or(cmp.Compare(f.Severity.rank(), other.Severity.rank()), strings.Compare(f.Object(), other.Object()))
}

// NotChecked names rules that could not be applied, and why.
type NotChecked struct {
	Rules     []string `json:"rules"`               // the rules that were not applied
	Namespace string   `json:"namespace,omitempty"` // empty: all namespaces
	Kind      string   `json:"kind,omitempty"`      // empty: all workloads
	Name      string   `json:"name,omitempty"`      // empty: all workloads of that kind
	Why       string   `json:"why"`
}

// Where names what was not checked.
func (n NotChecked) Where() string {
	switch {
	case n.Name != "":
		return n.Namespace + "/" + n.Kind + "/" + n.Name
	case n.Namespace != "":
		return "namespace " + n.Namespace + n.kinds()
	}
	return "all namespaces" + n.kinds()
}

func (n NotChecked) kinds() string {
	if n.Kind == "" {
		return ""
	}
	return ", every " + n.Kind
}

// Options of an audit.
type Options struct {
	// Skip lists IDs of rules to leave out.
	Skip []string
	// Kubectl is the command with which the steps call kubectl; default "kubectl".
	Kubectl string
}

// Validate returns an error for an unknown rule.
func (o Options) Validate() error {
	for _, id := range o.Skip {
		if !slices.ContainsFunc(Rules, func(r Rule) bool { return r.ID == id }) {
			return fmt.Errorf("rule %q: want one of %s", id, strings.Join(ids(Rules), ", "))
		}
	}
	return nil
}

func ids(rules []Rule) (all []string) {
	for _, r := range rules {
		all = append(all, r.ID)
	}
	return all
}

// Audit applies the rules to each workload. It is a pure function, and needs no cluster.
func Audit(c Cluster, o Options) Report {
	report := Report{
		Format: Format, Taken: c.Taken.UTC(), Workloads: len(c.Workloads),
		Findings: []Finding{}, NotChecked: []NotChecked{}, // never null in JSON
	}
	var rules []Rule
	for _, r := range Rules {
		if slices.Contains(o.Skip, r.ID) {
			report.Skipped = append(report.Skipped, r.ID)
			continue
		}
		rules = append(rules, r)
	}
	for _, u := range c.Unread {
		if without := rulesWithout(rules, u.Resource); len(without) > 0 {
			report.NotChecked = append(report.NotChecked, NotChecked{
				Rules: without, Namespace: u.Namespace, Kind: kindOf[u.Resource], Why: u.Why,
			})
		}
	}
	v := newView(&c, cmp.Or(o.Kubectl, "kubectl"))
	for i := range c.Workloads {
		for _, r := range rules {
			s := subject{view: v, Workload: &c.Workloads[i], rule: r, report: &report}
			if r.check != nil && !s.lacks(r.needs...) {
				r.check(&s)
			}
		}
	}
	for i := range c.Budgets {
		at := Workload{Kind: kindBudget, Namespace: c.Budgets[i].Namespace, Name: c.Budgets[i].Name}
		for _, r := range rules {
			s := subject{view: v, Workload: &at, rule: r, report: &report}
			if r.checkBudget != nil && !s.lacks(r.needs...) {
				r.checkBudget(&s, &c.Budgets[i])
			}
		}
	}
	slices.SortStableFunc(report.Findings, Finding.Compare)
	return report
}

// kindOf is the kind of the workloads that are missing if a resource is.
var kindOf = map[Resource]string{Deployments: Deployment, StatefulSets: StatefulSet, ReplicaSets: Deployment}

// rulesWithout returns the rules that cannot be applied without a resource. Without the workloads themselves, no rule can.
func rulesWithout(rules []Rule, missing Resource) (without []string) {
	all := slices.Contains([]Resource{Namespaces, Deployments, StatefulSets}, missing)
	if missing == ReplicaSets { // they link a Deployment to its pods
		missing = Pods
	}
	for _, r := range rules {
		if all || slices.Contains(r.needs, missing) {
			without = append(without, r.ID)
		}
	}
	return without
}

// subject is a workload that a rule is applied to.
type subject struct {
	*view
	*Workload
	rule   Rule
	report *Report
}

// lacks reports whether one of the resources could not be read. NotChecked has an entry for it already.
func (s *subject) lacks(needs ...Resource) bool {
	return slices.ContainsFunc(needs, func(need Resource) bool {
		return s.cluster.unread(need, s.Namespace) || need == Pods && s.Kind == Deployment && s.cluster.unread(ReplicaSets, s.Namespace)
	})
}

// find reports a finding on the subject. Its severity defaults to the rule's.
func (s *subject) find(f Finding) {
	f.Rule, f.Namespace, f.Kind, f.Name = s.rule.ID, s.Namespace, s.Kind, s.Name
	f.Severity = cmp.Or(f.Severity, s.rule.Severity)
	if f.Fix == nil {
		f.Fix = []Step{}
	}
	s.report.Findings = append(s.report.Findings, f)
}

// unknown reports that the rule cannot decide.
func (s *subject) unknown(format string, args ...any) {
	s.report.NotChecked = append(s.report.NotChecked, NotChecked{
		Rules: []string{s.rule.ID}, Namespace: s.Namespace, Kind: s.Kind, Name: s.Name, Why: fmt.Sprintf(format, args...),
	})
}
