package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/workloads"
)

// The metrics show what an audit finds, until it is told to end. The API server of this test fails it for anything but a GET.
func TestListen(t *testing.T) {
	config := served(t, "", objectsOf(t, workloads.Backend{Budget: workloads.NoBudget})...)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	root := Command("v1.2.3")
	root.SetErr(io.Discard)
	root.SetArgs([]string{"audit", "--listen", address, "--kubeconfig", config})
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

func TestListenWhereItCannot(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // only opened
	_, code, err := execute(t, "audit", "--listen", taken.Addr().String(), "--kubeconfig", served(t, ""))
	if code != exit.Failed || err == nil || !strings.Contains(err.Error(), "listen on "+taken.Addr().String()+": ") || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// This holdfast understands the command line in the manifest.
func TestTheManifestSpeaksThisCommandLine(t *testing.T) {
	manifest, err := os.ReadFile("../audit/exporter/deploy/audit.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(manifest, []byte("---\n")) {
		var d appsv1.Deployment
		if !bytes.Contains(document, []byte("kind: Deployment\n")) {
			continue
		}
		if err := yaml.UnmarshalStrict(document, &d); err != nil {
			t.Fatal(err)
		}
		args := d.Spec.Template.Spec.Containers[0].Args
		cmd, rest, err := Command("v1.2.3").Find(args)
		if err != nil || cmd.Name() != "audit" || cmd.ParseFlags(rest) != nil || cmd.Args(cmd, cmd.Flags().Args()) != nil || cmd.Flags().Lookup("listen").Value.String() != ":9090" {
			t.Errorf("%v is not understood: %v", args, err)
		}
		return
	}
	t.Error("no Deployment")
}
