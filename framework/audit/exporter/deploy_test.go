package exporter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/audit"
)

func deployed(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// asDeployed leaves the times of the rules as they are.
var asDeployed = strings.NewReplacer()

// rulesFile is the PrometheusRule's spec, which is a file for Prometheus' rule_files, with other times.
func rulesFile(t *testing.T, times *strings.Replacer) []byte {
	t.Helper()
	var rule struct{ Spec any }
	if err := yaml.Unmarshal([]byte(times.Replace(string(deployed(t, "prometheusrule.yaml")))), &rule); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(rule.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The manifests have no field that their types lack, and the role allows what an audit lists and nothing else.
func TestManifests(t *testing.T) {
	var granted, used []string
	for document := range bytes.SplitSeq(deployed(t, "audit.yaml"), []byte("---\n")) {
		var about struct{ Kind string }
		if err := yaml.Unmarshal(document, &about); err != nil {
			t.Fatal(err)
		}
		role := rbacv1.ClusterRole{}
		kinds := map[string]any{
			"Namespace": &corev1.Namespace{}, "ServiceAccount": &corev1.ServiceAccount{}, "ClusterRole": &role, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{},
			"Deployment": &appsv1.Deployment{}, "Service": &corev1.Service{},
		}
		if err := yaml.UnmarshalStrict(document, kinds[about.Kind]); err != nil {
			t.Errorf("%s: %v", about.Kind, err)
		}
		for _, r := range role.Rules {
			for _, resource := range r.Resources {
				granted = append(granted, strings.Join(append(r.Verbs, r.APIGroups[0], resource), " "))
			}
		}
	}
	for _, a := range (audit.Scope{}).Access() {
		used = append(used, strings.Join([]string{a.Verb, a.Group, string(a.Resource)}, " "))
	}
	slices.Sort(granted)
	slices.Sort(used)
	if !slices.Equal(granted, used) {
		t.Errorf("the role allows %q, and an audit uses %q", granted, used)
	}
	if !bytes.Contains(deployed(t, "servicemonitor.yaml"), []byte("honorLabels: true")) {
		t.Error("a workload's namespace would become the exporter's")
	}
}

// The alerts and the dashboard use metrics, labels and rules that exist.
func TestRulesAndDashboardUseMetricsThatExist(t *testing.T) {
	c := newCluster(t)
	c.deploy("bad", unbudgeted, "a1", "a1", "a2", "b1")
	c.stuck("bad", time.Now().Add(-time.Hour), noNode)
	c.forbid("services")
	e, registry := watching(c), prometheus.NewRegistry()
	e.read(t.Context())
	registry.MustRegister(e)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for _, f := range families {
		labels[f.GetName()] = " "
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[f.GetName()] += l.GetName() + " "
		}
	}
	selector, label := regexp.MustCompile(`(holdfast_[a-z_]+)(?:\{([^}]*)\})?`), regexp.MustCompile(`([a-z_]+)\s*[!=]`)
	for name, text := range map[string][]byte{"rules": rulesFile(t, asDeployed), "dashboard": deployed(t, "dashboard.json")} {
		found := selector.FindAllStringSubmatch(string(text), -1)
		for _, s := range found {
			if labels[s[1]] == "" {
				t.Errorf("%s: no metric %s", name, s[1])
			}
			for _, l := range label.FindAllStringSubmatch(s[2], -1) {
				if !strings.Contains(labels[s[1]], " "+l[1]+" ") {
					t.Errorf("%s: metric %s has no label %s", name, s[1], l[1])
				}
			}
		}
		if len(found) < 7 {
			t.Errorf("%s: %d metrics", name, len(found))
		}
	}
	for _, id := range []string{"soft-constraint-violated", "budget-blocks-drains", audit.PendingRule} {
		if !slices.ContainsFunc(audit.Rules, func(r audit.Rule) bool { return r.ID == id }) {
			t.Errorf("the audit has no rule %s", id)
		}
	}
	if !json.Valid(deployed(t, "dashboard.json")) {
		t.Error("the dashboard is no JSON")
	}
}

// prometheusTool finds a program of Prometheus. Without it the test fails and says how to get it.
func prometheusTool(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv("HOLDFAST_NO_PROMETHEUS") == "1" {
		t.Skip("HOLDFAST_NO_PROMETHEUS=1: the alerting rules are not tried")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("no %s: `make prometheus` gets Debian's and says where it is; put it on the PATH, or set HOLDFAST_NO_PROMETHEUS=1 to skip this test", name)
	}
	return path
}

// Prometheus' own test of rules: which alert each series of states raises, and when it ends.
func TestPromtool(t *testing.T) {
	tool, dir := prometheusTool(t, "promtool"), t.TempDir()
	tests, err := os.ReadFile("testdata/alerts_tests.yaml")
	if err := cmp.Or(err, os.WriteFile(filepath.Join(dir, "alerts_tests.yaml"), tests, 0o600), os.WriteFile(filepath.Join(dir, "rules.yaml"), rulesFile(t, asDeployed), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "alerts_tests.yaml"}} {
		run := exec.CommandContext(t.Context(), tool, arguments...)
		run.Dir = dir
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
}
