package run

import (
	"context"

	"github.com/holdfast-ha/holdfast/clusters"
)

// Warm are clusters that were made before they are needed.
type Warm interface {
	// Find returns the name of a cluster that is as spec wants it, as it was made, and not in use. Without one it is empty.
	Find(ctx context.Context, spec clusters.Spec) (name string, err error)
	// Spoil takes a cluster out, because it is no longer as it was. Close removes it then.
	Spoil(name string) error
}
