package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// staging is a cluster in memory behind a real server, with the kubeconfig that leads to it.
func recordedStaging(t *testing.T) (kubeconfig string) {
	t.Helper()
	cluster := clustertest.New("staging", clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 1})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, err := cluster.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = response.Body.Close() }()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(response.StatusCode)
		w.(http.Flusher).Flush() // a watch has begun, although nothing happens
		for buffer := make([]byte, 64<<10); ; {
			n, err := response.Body.Read(buffer)
			_, _ = w.Write(buffer[:n])
			w.(http.Flusher).Flush()
			if err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), shop, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	web.Spec.Replicas, web.Spec.Selector = new(int32(3)), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	web.Spec.Template.Labels = web.Spec.Selector.MatchLabels
	if _, err := client.AppsV1().Deployments("shop").Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubeconfig = filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: staging, clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}],
contexts: [{name: staging, context: {cluster: c, user: u, namespace: shop}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// From the command line to the record, and to what the user is told: what the command writes is its own.
func TestRecordFromTheCommandLine(t *testing.T) {
	t.Setenv("KUBECONFIG", recordedStaging(t))
	t.Chdir(t.TempDir())
	cmd := recordCommand("v0")
	var out, said bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&said)
	cmd.SetArgs([]string{"--before", "1s", "--settled", "1s", "--", "sh", "-c", "echo from the command; test -n \"$KUBECONFIG\""})
	if err := cmd.ExecuteContext(t.Context()); exit.Code(err) != exit.Unknown { // nothing was disturbed
		t.Fatalf("%v\n%s", err, &said)
	}
	reported, err := runfolder.ReadFile(filepath.Join("artifacts", runfolder.LatestName))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "from the command\n\n  unknown       no eviction takes the healthy pods below") {
		t.Errorf("standard output: %q", &out)
	}
	for _, want := range []string{"cluster context staging (http://127.0.0.1:", "read as eve", "API server     v1.37.1", "nodes", "watching 1 workload, 5 nodes", "the command succeeded"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("standard error lacks %q:\n%s", want, &said)
		}
	}
	if len(reported.Scenarios) != 1 || reported.Scenarios[0].Name != "record/shop" || !strings.HasPrefix(reported.Reproduce, "holdfast record --before 1s --settled 1s -- sh -c ") {
		t.Errorf("reported %+v", reported)
	}
	run, err := history.Open(filepath.Join("artifacts", runfolder.LatestName, "record", "shop"))
	if err != nil || run.Incomplete != "" || run.Header.Scenario != "record/shop" {
		t.Errorf("%v, %s, %+v", err, run.Incomplete, run.Header)
	}
}
