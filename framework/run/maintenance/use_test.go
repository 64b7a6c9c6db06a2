package maintenance

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters/kind"

	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	procs "github.com/holdfast-ha/holdfast/framework/base/process"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/fault/leasetest"
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
	server, api := leasetest.New()
	defer api.Close()
	opened := func(context.Context, string) (clusters.Cluster, error) { return at{url: api.URL}, nil }
	made := kind.Made{Name: "demo", Maker: kind.Maker{Process: procs.Self(), Command: "holdfast run"}}
	if err := inUse(t.Context(), "demo", []kind.Made{made}, opened); err == nil || !strings.Contains(err.Error(), "cluster demo belongs to 'holdfast run', which is still running (process ") {
		t.Errorf("its maker lives: %v", err)
	}
	made.Began += "1" // as if another process had its PID now
	if err := inUse(t.Context(), "demo", []kind.Made{made}, opened); err != nil {
		t.Errorf("its maker has ended: %v", err)
	}
	server.Hold(t, api.URL)
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
	dir, err := kind.StateDir("demo")
	if err != nil {
		t.Fatal(err)
	}
	leasetest.Abandon(t, filepath.Join(dir, CopyFile))
	lines := Leftovers([]kind.Made{
		{Name: "m1", Maker: kind.Maker{Process: dead, Command: "holdfast run"}},
		{Name: "demo", Maker: kind.Maker{Process: dead}, Kept: true},
		{Name: "mine", Maker: kind.Maker{Process: procs.Self()}},
	})
	if len(lines) != 2 || !strings.HasSuffix(lines[0], ": holdfast down m1") ||
		!strings.Contains(lines[1], "was killed in the middle of a fault, which was not undone on cluster demo: chaos/x: kill one worker: run 'holdfast heal demo' first") {
		t.Errorf("%q", lines)
	}
}
