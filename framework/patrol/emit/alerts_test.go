package emit

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/patrol"
)

var (
	metricName = regexp.MustCompile(`holdfast_[a-z_]+`)
	selectors  = regexp.MustCompile(`(holdfast_[a-z_]+)\{([^}]*)\}`)
	labelName  = regexp.MustCompile(`([a-z_]+)\s*[!=]`)
)

// checkMetrics checks that a text names metrics and labels that the patrol has.
func checkMetrics(t *testing.T, where, text string) {
	t.Helper()
	known := patrol.Metrics()
	names := metricName.FindAllString(text, -1)
	if len(names) == 0 {
		t.Errorf("%s: no metric in %q", where, text)
	}
	for _, name := range names {
		if _, is := known[name]; !is {
			t.Errorf("%s: there is no metric %s", where, name)
		}
	}
	for _, selector := range selectors.FindAllStringSubmatch(text, -1) {
		for _, label := range labelName.FindAllStringSubmatch(selector[2], -1) {
			if !slices.Contains(known[selector[1]], label[1]) {
				t.Errorf("%s: metric %s has no label %s", where, selector[1], label[1])
			}
		}
	}
}

// The alerts use metrics and rules that exist, name every workload they are about, and say what to do.
func TestAlerts(t *testing.T) {
	names := map[string]bool{}
	for _, r := range (Alerts{}).rules().Groups[0].Rules {
		checkMetrics(t, r.Alert, r.Expr)
		if names[r.Alert] || !strings.HasPrefix(r.Alert, "Holdfast") || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%+v", r)
		}
		names[r.Alert] = true
		if workload := strings.Contains(r.Expr, byWorkload); workload != strings.Contains(r.Annotations["summary"], "$labels.workload") {
			t.Errorf("%s is about a workload: %v; its summary is %s", r.Alert, workload, r.Annotations["summary"])
		}
	}
	for _, id := range []string{ruleSkewed, ruleBudgetBlocks, audit.PendingRule} {
		if !slices.ContainsFunc(audit.Rules, func(r audit.Rule) bool { return r.ID == id }) {
			t.Errorf("the audit has no rule %s", id)
		}
	}
}

func TestRulesFile(t *testing.T) {
	text, err := Alerts{}.File()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "rules.yaml", text)
}

// Each panel of the dashboard asks for metrics that exist.
func TestDashboard(t *testing.T) {
	var d struct {
		Title, UID string
		Panels     []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(Dashboard(), &d); err != nil || d.Title == "" || d.UID == "" || len(d.Panels) == 0 {
		t.Fatalf("%v: %+v", err, d)
	}
	for _, p := range d.Panels {
		if len(p.Targets) != 1 {
			t.Errorf("%s has %d targets", p.Title, len(p.Targets))
			continue
		}
		checkMetrics(t, p.Title, p.Targets[0].Expr)
	}
}
