//go:build e2e

package engine

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// TestFindForReal runs Find on the engine of this machine.
func TestFindForReal(t *testing.T) {
	dir := t.TempDir()
	options := Options{CacheDir: dir, NoInstall: true, Say: t.Logf}
	begin := time.Now()
	first, err := Find(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s in %s; refused: %+v", first.Name(), first.Version(), time.Since(begin), first.Refusals())
	if !proofIsThere(dir, first.Name()) {
		t.Error("the proof was not remembered")
	}
	begin = time.Now()
	second, err := Find(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("again in %s", time.Since(begin))
	if second.Name() != first.Name() {
		t.Errorf("first %s, then %s", first.Name(), second.Name())
	}
	for _, list := range [][]string{{"ps", "--all", "--format", "{{.Names}}"}, {"images", "--format", "{{.Repository}}"}} {
		left, err := first.Output(t.Context(), list...)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(left), "holdfast-probe") {
			t.Errorf("left behind:\n%s", left)
		}
	}
}

// Concurrent calls of Find must not remove each other's probe containers or images.
func TestFindAtTheSameTime(t *testing.T) {
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			_, err := Find(t.Context(), Options{CacheDir: t.TempDir(), NoInstall: true})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func proofIsThere(dir, name string) bool { return thisHost().exists(proofFile(dir, name)) }

// RemoveProbes finds and removes by label what a killed Find has left.
func TestRemoveProbesForReal(t *testing.T) {
	e, err := Find(t.Context(), Options{CacheDir: t.TempDir(), NoInstall: true})
	if err != nil {
		t.Fatal(err)
	}
	archive, err := rootFS("left-behind", os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	const name, image = "holdfast-probe-left", "localhost/holdfast-probe-left:latest"
	cmd := e.Command(t.Context(), "import", "--change", "LABEL "+Label+"=probe", "-", image)
	cmd.Stdin = archive
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	_, err = e.Output(t.Context(), "create", "--name", name, "--label", Label+"=probe", "--pull=never", image, "/left-behind")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.RemoveProbes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Output(t.Context(), "inspect", "--type", "container", name); err == nil {
		t.Error("the container is still there")
	}
	if _, err := e.Output(t.Context(), "inspect", "--type", "image", image); err == nil {
		t.Error("the image is still there")
	}
	if err := e.RemoveProbes(t.Context()); err != nil {
		t.Errorf("where there is nothing to remove: %v", err)
	}
}
