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
	"github.com/holdfast-ha/holdfast/clusters/kind"
	procs "github.com/holdfast-ha/holdfast/clusters/process"
	"github.com/holdfast-ha/holdfast/framework/hold"
)

// at is a cluster whose API server is reached there.
type at struct {
	clusters.Cluster
	url string
}

func (a at) Name() string         { return "demo" }
func (a at) Config() *rest.Config { return &rest.Config{Host: a.url + "/demo"} }

// A cluster that somebody uses is not removed by its name: neither while its maker lives, nor while a run holds it.
func TestInUse(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	server, api := newLeaseServer()
	defer api.Close()
	opened := func(context.Context, string) (clusters.Cluster, error) { return at{url: api.URL}, nil }
	made := kind.Made{Name: "demo", Maker: kind.Maker{Process: procs.Self(), Command: "holdfast run"}}
	if err := inUse(t.Context(), "demo", []kind.Made{made}, opened); err == nil || !strings.Contains(err.Error(), "cluster demo belongs to 'holdfast run', which is still running (process ") {
		t.Errorf("its maker lives: %v", err)
	}
	made.Began += "1" // another process has its PID now
	if err := inUse(t.Context(), "demo", []kind.Made{made}, opened); err != nil {
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

// What runs that were killed have left is named by whoever comes next, without asking an API server, which may be what was taken away.
func TestLeft(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	dead := procs.Self()
	dead.Began += "1"
	leaveACopy(t)
	lines := left([]kind.Made{
		{Name: "m1", Maker: kind.Maker{Process: dead, Command: "holdfast run"}},
		{Name: "demo", Maker: kind.Maker{Process: dead}, Kept: true},
		{Name: "mine", Maker: kind.Maker{Process: procs.Self()}},
	})
	if len(lines) != 2 || !strings.HasSuffix(lines[0], ": holdfast down m1") ||
		!strings.Contains(lines[1], "was killed in the middle of a fault, which was not undone on cluster demo: chaos/x: kill one worker: run 'holdfast heal demo' first") {
		t.Errorf("%q", lines)
	}
}

// A cluster in the middle of a fault is refused at once, and with the code of a harness that cannot do its work: it took a minute, and
// ended as Unknown.
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

// leaveACopy is what a run that was killed leaves on this machine of the cluster demo.
func leaveACopy(t *testing.T) {
	t.Helper()
	dir, err := kind.StateDir("demo")
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
