package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
	procs "github.com/holdfast-ha/holdfast/clusters/process"
	"github.com/holdfast-ha/holdfast/framework/hold"
)

// at is a cluster with this API server.
type at struct {
	clusters.Cluster
	url string
}

func (a at) Name() string         { return "demo" }
func (a at) Config() *rest.Config { return &rest.Config{Host: a.url + "/demo"} }

// `down NAME` refuses a cluster while the process that created it lives, or while a run holds it.
func TestInUse(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	server, api := newLeaseServer()
	defer api.Close()
	opened := func(context.Context, string) (clusters.Cluster, error) { return at{url: api.URL}, nil }
	made := inventory.Made{Name: "demo", Maker: inventory.Maker{Process: procs.Self(), Command: "holdfast run"}}
	if err := inUse(t.Context(), "demo", []inventory.Made{made}, opened); err == nil || !strings.Contains(err.Error(), "cluster demo belongs to 'holdfast run', which is still running (process ") {
		t.Errorf("its maker lives: %v", err)
	}
	made.Began += "1" // as if another process had its PID now
	if err := inUse(t.Context(), "demo", []inventory.Made{made}, opened); err != nil {
		t.Errorf("its maker has ended: %v", err)
	}
	held(t, server, api.URL)
	var by *hold.HeldError
	if err := inUse(t.Context(), "demo", nil, opened); !errors.As(err, &by) || by.Run != "run 1" {
		t.Errorf("a run holds it: %v", err)
	}
	broken := func(context.Context, string) (clusters.Cluster, error) { return nil, errors.New("half of it is there") }
	if err := inUse(t.Context(), "demo", nil, broken); err != nil {
		t.Errorf("what cannot be opened: %v", err)
	}
}

// The next command lists what killed runs left. It does not ask an API server, which may be what the fault made unreachable.
func TestLeft(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	dead := procs.Self()
	dead.Began += "1"
	leaveACopy(t)
	lines := left([]inventory.Made{
		{Name: "m1", Maker: inventory.Maker{Process: dead, Command: "holdfast run"}},
		{Name: "demo", Maker: inventory.Maker{Process: dead}, Kept: true},
		{Name: "mine", Maker: inventory.Maker{Process: procs.Self()}},
	})
	if len(lines) != 2 || !strings.HasSuffix(lines[0], ": holdfast down m1") ||
		!strings.Contains(lines[1], "was killed in the middle of a fault, which was not undone on cluster demo: chaos/x: kill one worker: run 'holdfast heal demo' first") {
		t.Errorf("%q", lines)
	}
}

// A cluster with a fault in force is refused at once, with the exit code of a harness failure. Once, this took a minute and ended as
// Unknown.
func TestARunOnAClusterInTheMiddleOfAFault(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("HOLDFAST_CACHE", cache)
	leaveACopy(t)
	onThese(t)
	_, code, err := execute(t, "run", "chaos/one", "--cluster", "demo", "--provider", "hamlet", "--artifacts", filepath.Join(cache, "artifacts"))
	if code != ExitFailed || err == nil || !strings.Contains(err.Error(), "kill one worker: run 'holdfast heal demo' first") {
		t.Errorf("exit code %d: %v", code, err)
	}
	if _, err := os.Stat(filepath.Join(cache, "artifacts")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made for a run that never was: %v", err)
	}
}

// leaveACopy writes what a killed run leaves on this machine about the cluster demo.
func leaveACopy(t *testing.T) {
	t.Helper()
	dir, err := inventory.StateDir("demo")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	self := procs.Self()
	text := `{"run":"run 7","host":"` + self.Host + `","machine":"` + self.Machine + `","pid":1,"began":"0","fault":"chaos/x: kill one worker"}`
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, copyFile), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
