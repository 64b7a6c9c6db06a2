package restore

import (
	"errors"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
)

// A cluster in the middle of a fault is known by its machines, without its API server.
func TestUndisturbed(t *testing.T) {
	for name, test := range map[string]struct {
		left func(*clustertest.Cluster, map[string]*disk)
		want string
	}{
		"nothing": {func(*clustertest.Cluster, map[string]*disk) {}, ""},
		"a dead machine, and undos on others": {func(h *clustertest.Cluster, d map[string]*disk) {
			h.Node("wa1").SetState(clusters.Exited)
			d["wb1"].undos = []string{"partition", "packet-loss"}
		}, "cluster demo was left in the middle of a fault, which was not undone (machine wa1 is exited, wb1 has the undo of partition, packet-loss): " +
			"run 'holdfast heal demo' first"},
		"the engine is away": {func(h *clustertest.Cluster, _ map[string]*disk) { h.Node("wa1").FailState(errors.New("no engine")) },
			"look whether cluster demo is as it was: no engine"},
	} {
		t.Run(name, func(t *testing.T) {
			fake, disks := leftBehind()
			test.left(fake, disks)
			errtest.Check(t, Check(t.Context(), fake), test.want)
		})
	}
}
