package kind

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters"
)

func TestPrioritize(t *testing.T) {
	f := newFakeEngine("podman")
	refused := errors.New("no such controller")
	f.Fail = func(args []string) error {
		if args[0] == "update" {
			return refused
		}
		return nil
	}
	spec := clusters.Spec{Zones: []string{"a", "b"}}.WithDefaults()
	err := prioritize(t.Context(), f, "demo", spec)
	if want := "raise the CPU shares of holdfast-demo-control-plane: no such controller"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	updates := slices.DeleteFunc(slices.Clone(f.Calls), func(call string) bool { return !strings.HasPrefix(call, "update") })
	if want := []string{"update --cpu-shares 4096 holdfast-demo-control-plane"}; !slices.Equal(updates, want) {
		t.Errorf("asked for %q, want %q: nothing after the refusal", updates, want)
	}

	f.Run("holdfast-demo-control-plane")
	f.Run("holdfast-demo-worker")
	f.Run("holdfast-demo-worker3")
	f.Calls, f.Fail, spec.LoadOnWorkers = nil, nil, 1
	if err := prioritize(t.Context(), f, "demo", spec); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"update --cpu-shares 4096 holdfast-demo-control-plane", "update --cpu-shares 10240 holdfast-demo-worker", "update --cpu-shares 10240 holdfast-demo-worker3",
	}
	if !slices.Equal(f.Calls, want) {
		t.Errorf("asked for %q, want %q: the control plane, the load node, and the worker that carries load", f.Calls, want)
	}
}
