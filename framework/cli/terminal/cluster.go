package terminal

import (
	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/self"
)

// ClusterFlags are flags for a cluster that holdfast did not make. A credential plugin runs below this program, if this program is holdfast.
func ClusterFlags() *existing.Flags {
	f := existing.NewFlags()
	f.Executable = self.Running()
	return f
}
