package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/workloads"
)

// served starts an API server with some objects, which forbids listing one resource. It returns a kubeconfig.
func served(t *testing.T, forbidden string, objects ...workloads.Object) string {
	t.Helper()
	lists := map[string][]workloads.Object{}
	for _, o := range objects {
		switch o.(type) {
		case *appsv1.Deployment:
			lists["deployments"] = append(lists["deployments"], o)
		case *corev1.Service:
			lists["services"] = append(lists["services"], o)
		case *policyv1.PodDisruptionBudget:
			lists["poddisruptionbudgets"] = append(lists["poddisruptionbudgets"], o)
		}
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resource := path.Base(r.URL.Path)
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		answer := any(map[string]any{"metadata": map[string]any{}, "items": append([]workloads.Object{}, lists[resource]...)})
		if resource == forbidden {
			w.WriteHeader(http.StatusForbidden)
			status := apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("not for you")).Status()
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"} // required by clients
			answer = status
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(api.Close)
	return kubeconfig(t, api.URL)
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "one",
"clusters": [{"name": "c", "cluster": {"server": %q}}],
"contexts": [{"name": "one", "context": {"cluster": "c"}}, {"name": "two", "context": {"cluster": "c"}}]}`, server)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func objectsOf(t *testing.T, b workloads.Backend) []workloads.Object {
	t.Helper()
	objects, err := b.Objects(workloads.Place{Namespace: "shop", Image: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestAuditExitCodes(t *testing.T) {
	unbudgeted := workloads.Backend{Budget: workloads.NoBudget}
	single := workloads.Backend{Replicas: 1}
	for _, test := range []struct {
		name      string
		backend   workloads.Backend
		forbidden string
		args      string
		code      int
		say       string
	}{
		{"nothing", workloads.Backend{}, "", "", exit.Held, ""},
		{"a warning", unbudgeted, "", "", exit.Violated, "found: 1 of severity warning or worse"},
		{"a warning, and errors are meant", unbudgeted, "", "--fail-on error", exit.Held, ""},
		{"an error", single, "", "--fail-on error", exit.Violated, "found: 1 of severity error or worse"},
		{"an error, and nothing is meant", single, "", "--fail-on never", exit.Held, ""},
		{"what was left out", unbudgeted, "", "--skip no-budget", exit.Held, ""},
		{"not checked", workloads.Backend{}, "nodes", "", exit.Unknown, "unknown: something could not be checked"},
		{"not checked, and nothing is meant", workloads.Backend{}, "nodes", "--fail-on never", exit.Unknown, "unknown: "},
		{"not checked, and a warning", unbudgeted, "nodes", "", exit.Violated, "found: 1 of severity warning or worse"},
		{"another context", workloads.Backend{}, "", "--context two", exit.Held, ""},
		{"no such context", workloads.Backend{}, "", "--context three", exit.Failed, `no context "three": it has one, two`},
	} {
		config := served(t, test.forbidden, objectsOf(t, test.backend)...)
		_, code, err := execute(t, append([]string{"audit", "--kubeconfig", config}, strings.Fields(test.args)...)...)
		if code != test.code || (err == nil) != (test.say == "") || err != nil && !strings.Contains(err.Error(), test.say) {
			t.Errorf("%s: exit code %d, %v; want %d and %q", test.name, code, err, test.code, test.say)
		}
	}
	for name, config := range map[string]string{
		"nobody listens": kubeconfig(t, "http://127.0.0.1:1"), "no kubeconfig": filepath.Join(t.TempDir(), "none"),
	} {
		if out, code, err := execute(t, "audit", "--kubeconfig", config); code != exit.Failed || err == nil || out != "" {
			t.Errorf("%s: exit code %d, %v\n%s", name, code, err, out)
		}
	}
}

func TestAuditUsage(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--output xml", `output "xml": want table, json or sarif`},
		{"--fail-on fatal", `fail on "fatal": want error, warning, note or never`},
		{"--skip budget", `rule "budget": want one of one-node, `},
		{"--emit policy --critical =", `read label selector "="`},
		{"--emit rules", `emit "rules": want policy`},
		{"--emit policy --listen :0", "--listen and --emit: give one of them"},
		{"--critical a=b", "--critical is for --emit policy"},
		{"--every 1m", "--every is for --listen"},
		{"--listen :0 --every 1s", "every 1s: want at least 10s, because each audit lists every pod"},
		{"--listen :0 --output json", "--output is for a single audit"},
		{"--listen :0 --fail-on error", "--fail-on is for a single audit"},
		{"shop", `unknown command "shop" for "holdfast audit"`},
	} {
		out, code, err := execute(t, append([]string{"audit"}, strings.Fields(test.args)...)...)
		if code != exit.BadUsage || err == nil || !strings.Contains(err.Error(), test.want) || out != "" {
			t.Errorf("holdfast audit %s: exit code %d, %v; want 4 and %q", test.args, code, err, test.want)
		}
	}
}

// Below the table are the commands that fix each finding on the audited cluster.
func TestAuditTable(t *testing.T) {
	config := served(t, "nodes", objectsOf(t, workloads.Backend{Replicas: 1, PreStop: workloads.NoPreStop})...)
	out, _, _ := execute(t, "audit", "--kubeconfig", config, "--context", "two", "--skip", "no-budget")
	want := strings.ReplaceAll(`┌───┬──────────┬─────────────────────────┬────────────────┬────────────────────────────────────────────────────────────────────────┐
│   │ SEVERITY │ WORKLOAD                │ RULE           │ EVIDENCE                                                               │
├───┼──────────┼─────────────────────────┼────────────────┼────────────────────────────────────────────────────────────────────────┤
│ 1 │ error    │ shop/Deployment/backend │ single-replica │ spec.replicas is 1                                                     │
│ 2 │ warning  │ shop/Deployment/backend │ no-prestop     │ container backend, which Service backend sends requests to, gets       │
│   │          │                         │                │ SIGTERM while requests still arrive                                    │
└───┴──────────┴─────────────────────────┴────────────────┴────────────────────────────────────────────────────────────────────────┘

1. shop/Deployment/backend: single-replica
   kubectl --context 'two' --kubeconfig 'CONFIG' patch deployment backend --namespace shop --type strategic --patch '{"spec":{"replicas":2}}'
   # where a HorizontalPodAutoscaler scales it, raise its minReplicas instead

2. shop/Deployment/backend: no-prestop
   kubectl --context 'two' --kubeconfig 'CONFIG' patch deployment backend --namespace shop --type strategic --patch '{"spec":{"template":{"spec":{"containers":[{"lifecycle":{"preStop":{"sleep":{"seconds":5}}},"name":"backend"}]}}}}'
   # the sleep action needs Kubernetes 1.30; on older versions, exec a sleep

not checked in all namespaces: one-zone, pending-on-hard-constraint, unmeetable-anti-affinity, no-room-to-surge, no-spread, unusable-domain, soft-constraint-violated, fixed-node-ports
   nodes is forbidden: not for you

workloads: 1, errors: 1, warnings: 1, notes: 0; not everything could be checked; left out: no-budget
`, "CONFIG", config)
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	out, _, _ = execute(t, "audit", "--kubeconfig", served(t, "", objectsOf(t, workloads.Backend{})...))
	if out != "workloads: 1, errors: 0, warnings: 0, notes: 0\n" {
		t.Errorf("of good practice it says %q", out)
	}
}

func TestAuditForPrograms(t *testing.T) {
	config := served(t, "", objectsOf(t, workloads.Backend{Budget: workloads.NoBudget})...)
	var report audit.Report
	out, _, _ := execute(t, "audit", "--kubeconfig", config, "-o", "json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Format != audit.Format || len(report.Findings) != 1 {
		t.Errorf("JSON: %v\n%s", err, out)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool    struct{ Driver struct{ Version string } }
			Results []struct{ RuleID string }
		}
	}
	out, _, _ = execute(t, "audit", "--kubeconfig", config, "-o", "sarif")
	if err := json.Unmarshal([]byte(out), &log); err != nil || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Version != "v1.2.3" ||
		len(log.Runs[0].Results) != 1 || log.Runs[0].Results[0].RuleID != "no-budget" {
		t.Errorf("SARIF: %v\n%s", err, out)
	}
}

// The policy needs no cluster.
func TestEmitPolicy(t *testing.T) {
	want, err := audit.Policy("tier=gold")
	if err != nil {
		t.Fatal(err)
	}
	out, code, err := execute(t, "audit", "--emit", "policy", "--critical", "tier=gold", "--kubeconfig", "none")
	if code != exit.Held || out != string(want) {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
}
