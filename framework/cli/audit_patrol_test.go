package cli

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/patrol/emit"
	"github.com/holdfast-ha/holdfast/workloads"
)

// A patrol serves what an audit finds until it is told to end. The API server of this test fails it for anything but a GET.
func TestServe(t *testing.T) {
	config := served(t, "", objectsOf(t, workloads.Backend{Budget: workloads.NoBudget})...)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	root := Command("v1.2.3")
	root.SetErr(io.Discard)
	root.SetArgs([]string{"audit", "--serve", address, "--kubeconfig", config})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	want := `holdfast_workload_finding{kind="Deployment",namespace="shop",rule="no-budget",severity="warning",workload="backend"} 1`
	err = poll.Until(t.Context(), "the finding among the metrics", time.Minute, func(context.Context) (bool, string, error) {
		response, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return false, "", err
		}
		defer response.Body.Close() //nolint:errcheck // read
		body, err := io.ReadAll(response.Body)
		return strings.Contains(string(body), want), response.Status, err
	})
	if err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; exit.Code(err) != exit.Held {
		t.Errorf("told to end, it says %v", err)
	}
}

func TestServeWhereItCannot(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // only opened
	_, code, err := execute(t, "audit", "--serve", taken.Addr().String(), "--kubeconfig", served(t, ""))
	if code != exit.Failed || err == nil || !strings.Contains(err.Error(), "serve at "+taken.Addr().String()+": ") || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// The command line in the printed manifest is understood by this holdfast, and means what the flags meant.
func TestEmitPatrolSpeaksThisCommandLine(t *testing.T) {
	out, code, err := execute(t, "audit", "--emit", "patrol", "--image", "x", "-n", "shop,bank", "--skip", "no-budget", "--events", "--interval", "2m", "--max-series", "7", "--system")
	if code != exit.Held {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	for document := range strings.SplitSeq(out, "---\n") {
		if strings.Contains(document, "kind: Deployment\n") {
			if err := yaml.Unmarshal([]byte(document), &d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(d.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("no Deployment in\n%s", out)
	}
	root := Command("v1.2.3")
	cmd, rest, err := root.Find(d.Spec.Template.Spec.Containers[0].Args)
	if err != nil || cmd.Name() != "audit" || cmd.ParseFlags(rest) != nil || cmd.Args(cmd, cmd.Flags().Args()) != nil {
		t.Fatalf("%v is not understood: %v", d.Spec.Template.Spec.Containers[0].Args, err)
	}
	for flag, want := range map[string]string{
		"serve": ":9090", "namespace": "[shop,bank]", "skip": "[no-budget]", "events": "true", "interval": "2m0s", "max-series": "7", "system": "true",
	} {
		if got := cmd.Flags().Lookup(flag).Value.String(); got != want {
			t.Errorf("--%s is %s, want %s", flag, got, want)
		}
	}
}

// What is printed needs no cluster.
func TestEmit(t *testing.T) {
	rules, err := emit.Alerts{Pending: 7 * time.Minute}.File()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"patrol-rules", "--alert-pending", "7m"}, string(rules)}, {[]string{"patrol-dashboard"}, string(emit.Dashboard())},
	} {
		out, code, err := execute(t, append([]string{"audit", "--kubeconfig", "none", "--emit"}, test.args...)...)
		if code != exit.Held || out != test.want {
			t.Errorf("%v: exit code %d, %v\n%s", test.args, code, err, out)
		}
	}
}
