package judge

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdfast-ha/holdfast/framework/invariant"
)

// TestEveryKindSaysWhetherALossMovesIt: a promise that is forgotten would be broken by a starved machine.
func TestEveryKindSaysWhetherALossMovesIt(t *testing.T) {
	if diff := cmp.Diff(invariant.Kinds(), slices.Sorted(maps.Keys(movedByLosses))); diff != "" {
		t.Errorf("kinds of promises, and those that say so (-want +got):\n%s", diff)
	}
}
