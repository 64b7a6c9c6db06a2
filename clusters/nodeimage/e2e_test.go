//go:build e2e

package nodeimage

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// TestBuildForReal builds the image of the version in HOLDFAST_KUBERNETES (default: the newest) with this machine's
// engine and cache. A second call must return the same image.
func TestBuildForReal(t *testing.T) {
	ctx := t.Context()
	e, err := engine.Find(ctx, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	version := os.Getenv("HOLDFAST_KUBERNETES")
	built, err := Build(ctx, e, version, Options{Progress: Lines(os.Stderr, false)})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	again, err := Ensure(ctx, e, version, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the second call took %s", took)
	}
	want := built
	want.Source = Present
	if again != want {
		t.Errorf("got %+v, want %+v", again, want)
	}
	t.Logf("%+v", again)
}

// TestUnknownVersionForReal: asking for a version that does not exist builds nothing and returns a helpful error.
func TestUnknownVersionForReal(t *testing.T) {
	ctx := t.Context()
	e, err := engine.Find(ctx, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	_, err = Ensure(ctx, e, "v1.37.99", Options{})
	if err == nil || !strings.Contains(err.Error(), "v1.37.99 does not exist; near it are v1.37.") {
		t.Errorf("got %v", err)
	}
	t.Logf("after %s: %v", time.Since(begun), err)
	all, err := Versions(ctx)
	if err != nil || !slices.Contains(all, DefaultKubernetes) {
		t.Errorf("%s is not among %v: %v", DefaultKubernetes, all, err)
	}
	held, err := List(ctx, e)
	if err != nil {
		t.Error(err)
	}
	for _, image := range held {
		t.Logf("%+v", image)
	}
}
