package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters/kind"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/fault/leasetest"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
)

// A cluster with a fault in force is refused at once, with the exit code of a harness failure. Once, this took a minute and ended as
// Unknown.
func TestARunOnAClusterInTheMiddleOfAFault(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("HOLDFAST_CACHE", cache)
	dir, err := kind.StateDir("demo")
	if err != nil {
		t.Fatal(err)
	}
	leasetest.Abandon(t, filepath.Join(dir, maintenance.CopyFile))
	onThese(t)
	_, code, err := execute(t, "run", "chaos/one", "--cluster", "demo", "--provider", "hamlet", "--artifacts", filepath.Join(cache, "artifacts"))
	if code != exit.Failed || err == nil || !strings.Contains(err.Error(), "kill one worker: run 'holdfast heal demo' first") {
		t.Errorf("exit code %d: %v", code, err)
	}
	if _, err := os.Stat(filepath.Join(cache, "artifacts")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made for a run that never was: %v", err)
	}
}
