package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// engine looks for an engine that runs privileged containers. It returns nil if there is none.
func (m *machine) engine(ctx context.Context, o Options) (containerEngine, Check) {
	check := Check{Name: "engine", Status: OK}
	found, err := m.find(ctx, engine.Options{CacheDir: o.CacheDir, NoInstall: !o.Install, Say: o.Say})
	var none *engine.NotFoundError
	switch {
	case errors.As(err, &none):
		check.Status = Fail
		check.Found = "none runs a privileged container" + refused(none.Refusals)
		check.Remedy = strings.ReplaceAll(none.Remedy, "\n", "; or: ")
		return nil, check
	case err != nil:
		check.Status, check.Found = Fail, err.Error()
		return nil, check
	}
	check.Found = fmt.Sprintf("%s %s (%s, %s) runs privileged containers%s", found.Name(), found.Version(),
		found.Runtime(), found.StorageDriver(), refused(found.Refusals()))
	if found.StorageDriver() == "vfs" {
		check.Status = Warn
		check.Found += "; its storage driver vfs copies the whole image for every node"
		check.Remedy = "put the engine's storage on a file system that overlay works on, such as ext4 or xfs"
	}
	return found, check
}

// refused describes the rejected engines, to be appended to a finding.
func refused(refusals []engine.Refusal) string {
	var text strings.Builder
	for _, refusal := range refusals {
		fmt.Fprintf(&text, "; %s: %s", refusal.Engine, refusal.Reason)
	}
	return text.String()
}
