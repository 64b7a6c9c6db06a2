package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

func executeOne(t *testing.T, cmd *cobra.Command, args ...string) (out string, code int, err error) {
	t.Helper()
	var text bytes.Buffer
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&text)
	cmd.SetErr(io.Discard)
	err = cmd.ExecuteContext(t.Context())
	return text.String(), exit.Code(err), err
}

// staging is a cluster in memory behind a real address, and a kubeconfig for it. Each request that arrives is noted.
func planStaging(t *testing.T, frozen bool) (c *clustertest.Cluster, config string, arrived *requests) {
	t.Helper()
	c, arrived = clustertest.New("staging", clusters.Spec{Zones: []string{"a", "b"}}), &requests{}
	c.Frozen, c.Owners = frozen, true
	labels := map[string]string{"app": "web"}
	c.Put("/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{disturb.KeyLabel: disturb.Allowed}}})
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "web", Image: "shop/web:1", ImagePullPolicy: corev1.PullIfNotPresent,
			}}},
		}},
	}
	_, err := kubernetes.NewForConfigOrDie(c.Config()).AppsV1().Deployments("shop").Create(t.Context(), web, metav1.CreateOptions{FieldManager: "kubectl-create"})
	if err != nil {
		t.Fatal(err)
	}
	c.Put("/api/v1/namespaces/shop/services", &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.add(r)
		for _, none := range []string{"ReplicaSet", "HorizontalPodAutoscaler"} { // the cluster in memory knows neither
			if strings.HasSuffix(r.URL.Path, "/"+strings.ToLower(none)+"s") {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"kind": "%sList", "apiVersion": %q, "items": []}`, none, strings.Join(strings.Split(r.URL.Path, "/")[2:4], "/"))
				return
			}
		}
		if r.URL.Path == "/api/v1/pods" { // nor those of all namespaces at once
			r.URL.Path = "/api/v1/namespaces/shop/pods"
		}
		answer, err := c.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		for key, values := range answer.Header {
			w.Header()[key] = values
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(server.Close)
	return c, write(t, server.URL), arrived
}

// requests are those that have arrived at an API server: the method, the path and, of a dry run, the query.
type requests struct {
	mu  sync.Mutex
	all []string
}

func (a *requests) add(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	line := r.Method + " " + r.URL.Path
	if r.URL.Query().Has("dryRun") {
		line += "?dryRun=" + strings.Join(r.URL.Query()["dryRun"], ",")
	}
	a.all = append(a.all, line)
}

// writes are those that could change anything, and tries are dry runs.
func (a *requests) writes() (writes, tries []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, line := range a.all {
		switch {
		case strings.HasPrefix(line, "GET "), strings.HasPrefix(line, "POST /apis/authorization.k8s.io/v1/selfsubject"),
			strings.HasPrefix(line, "POST /apis/authentication.k8s.io/v1/selfsubjectreviews"):
		case strings.HasSuffix(line, "?dryRun=All"):
			tries = append(tries, line)
		default:
			writes = append(writes, line)
		}
	}
	return writes, tries
}

// write writes a kubeconfig with the context staging, which is not the current one.
func write(t *testing.T, server string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: prod, clusters: [{name: c, cluster: {server: %q}}, {name: p, cluster: {server: "http://127.0.0.1:1"}}],
users: [{name: u, user: {token: t}}], contexts: [{name: staging, context: {cluster: c, user: u}}, {name: prod, context: {cluster: p, user: u}}]}`, server)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestPlanUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("KUBECONFIG", write(t, "http://127.0.0.1:1"))
	for _, test := range []struct {
		cmd  *cobra.Command
		args string
		want string
	}{
		{planCommand(), "a.yaml b.yaml", "at most 1 arg"},
		{planCommand(), "-o yaml", `output "yaml": want text or json`},
		{planCommand(), "--context elsewhere", `no context "elsewhere"`},
		{planCommand(), "--context staging none.yaml", "none.yaml"},
		{planCommand(), "--context staging --url http://web/", "no namespace: name that of the application"},
		{planCommand(), "--context staging -n shop --faults freeze", `fault "freeze"`},
		{rbacCommand(), "--faults drain", "no namespace: name that of the application"},
		{rbacCommand(), "-n kube-system", "is Kubernetes' own"},
		{rbacCommand(), "-n shop --faults freeze", `fault "freeze"`},
		{rbacCommand(), "-n shop --serviceaccount ci", `service account "ci": want NAMESPACE:NAME`},
	} {
		_, code, err := executeOne(t, test.cmd, strings.Fields(test.args)...)
		if code != exit.BadUsage || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: exit code %d, %v; want 4 and %q", test.cmd.Name(), test.args, code, err, test.want)
		}
	}
	if _, code, err := executeOne(t, planCommand(), "--context", "staging", "-n", "shop", "--url", "http://web/"); code != exit.Failed || !strings.Contains(err.Error(), "is this the right context") {
		t.Errorf("an API server that is away: exit code %d, %v", code, err)
	}
}

// Rules 2 and 23: the cluster is shown, what is refused is listed, and the outcome is Unknown for it. Nothing is written.
func TestWhatIsRefusedIsUnknown(t *testing.T) {
	c, config, arrived := planStaging(t, true)
	uid := string(c.Get("/api/v1/namespaces/kube-system").GetUID())
	args := []string{"--kubeconfig", config, "--context", "staging", "-n", "shop", "--url", "http://web/", "--faults", "rollout"}
	out, code, err := executeOne(t, planCommand(), args...)
	if code != exit.Unknown {
		t.Errorf("exit code %d, %v", code, err)
	}
	for _, want := range []string{
		"  context         staging\n", "  UID             " + uid + "\n", "  user            eve\n", "if this is the cluster that you mean, add to the file: cluster: {uid: " + uid + "}",
		"1. rollout of Deployment shop/web: ", "[rule 13, steady-first]", "Of 1 fault, 1 would be refused.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, code, err = executeOne(t, planCommand(), append(args, "-o", "json")...); code != exit.Unknown {
		t.Errorf("exit code %d, %v", code, err)
	}
	var d struct {
		Kind     string
		Goes     bool
		Cluster  struct{ UID string }
		Refusals []disturb.Refusal
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil || d.Kind != "Plan" || d.Goes || d.Cluster.UID != uid || len(d.Refusals) == 0 {
		t.Errorf("%v: %+v", err, d)
	}
	if writes, _ := arrived.writes(); len(writes) > 0 {
		t.Errorf("it wrote %q", writes)
	}
}

// Rule 23, turned off: what the rules would have refused and do not, is said to go, with the exit code of success.
func TestWithoutRefusalsThePlanIsHeld(t *testing.T) {
	_, config, _ := planStaging(t, true)
	args := []string{"--kubeconfig", config, "--context", "staging", "-n", "shop", "--url", "http://web/", "--faults", "rollout"}
	was := slices.Clone(disturb.Rules)
	defer copy(disturb.Rules, was)
	for i := range disturb.Rules {
		disturb.Rules[i] = disturb.Rule{Number: was[i].Number, ID: was[i].ID}
	}
	out, code, err := executeOne(t, planCommand(), args...)
	if code != exit.Held || !strings.Contains(out, "All of it could be done. Nothing has been written.") {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
	copy(disturb.Rules, was)
	if out, code, err = executeOne(t, planCommand(), args...); code != exit.Unknown {
		t.Errorf("with the rules: exit code %d, %v\n%s", code, err, out)
	}
}

// Rule 4: a plan of every fault, of which none is refused, sends nothing that could change anything. What it tries are dry runs.
func TestAPlanWritesNothing(t *testing.T) {
	c, config, arrived := planStaging(t, false)
	t.Chdir(t.TempDir())
	text := fmt.Sprintf("apiVersion: holdfast.dev/v1alpha1\nkind: App\ncluster: {uid: %s}\napp: {namespace: shop}\nprobes: [{name: home, url: \"http://web/\"}]\n"+
		"faults: [%s]\ndisturb: {trustRegistry: true, nodeKill: {command: halt, undo: start}}\n",
		c.Get("/api/v1/namespaces/kube-system").GetUID(), strings.Join(catalogue.Names(), ", "))
	if err := os.WriteFile("holdfast.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	web := c.Get("/apis/apps/v1/namespaces/shop/deployments/web").(*appsv1.Deployment)
	for i, o := range c.List("/api/v1/namespaces/shop/pods") { // the cluster in memory does not say who made them
		p := o.(*corev1.Pod).DeepCopy()
		p.Spec.NodeName = []string{"wa1", "wb1"}[i]
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(web, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
		c.Put("/api/v1/namespaces/shop/pods", p)
	}
	for _, name := range []string{"wa1", "wb1"} {
		n := c.Get("/api/v1/nodes/" + name).(*corev1.Node).DeepCopy()
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
		c.Put("/api/v1/nodes", n)
	}
	before := len(c.Asked())
	out, code, err := executeOne(t, planCommand(), "--kubeconfig", config, "--context", "staging")
	writes, tries := arrived.writes()
	if code != exit.Held || !strings.Contains(out, "All of it could be done. Nothing has been written.") {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
	if asked := c.Asked()[before:]; len(writes)+len(asked) > 0 {
		t.Errorf("it wrote %q, %q", writes, asked)
	}
	if want := "POST /api/v1/namespaces/shop/pods?dryRun=All"; len(tries) != 1 || tries[0] != want {
		t.Errorf("it tried %q, want %q", tries, want)
	}
}

// Each rule is promised by the help.
func TestHelpPromisesEachRule(t *testing.T) {
	help := planCommand().Long
	for _, r := range disturb.Rules {
		if line := fmt.Sprintf("\n  %2d  %.30s", r.Number, r.Promise); !strings.Contains(help, line) {
			t.Errorf("rule %d is not in the help:\n%s", r.Number, help)
		}
	}
}

func TestRoles(t *testing.T) {
	out, code, err := executeOne(t, rbacCommand(), "-n", "shop", "--faults", "rollout,drain", "--neighbours", "mail", "--user", "jane")
	if code != exit.Held || strings.Count(out, "name: jane") == 0 || !strings.Contains(out, "namespace: mail") || strings.Contains(out, "secrets") {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
}
