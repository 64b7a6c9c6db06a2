//go:build e2e

package nodeimage

import (
	"os"
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
	built, err := Build(ctx, e, version, Options{Progress: ProgressTo(os.Stderr)})
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
