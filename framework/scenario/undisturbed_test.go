package scenario

import (
	"errors"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters"
)

// A cluster in the middle of a fault is known by its machines, without its API server.
func TestUndisturbed(t *testing.T) {
	for name, test := range map[string]struct {
		left func(*town, map[string]*disk)
		want string
	}{
		"nothing": {func(*town, map[string]*disk) {}, ""},
		"a dead machine, and undos on others": {func(h *town, d map[string]*disk) {
			h.machine("wa1").become(clusters.Exited)
			d["wb1"].undos = []string{"partition", "packet-loss"}
		}, "cluster demo was left in the middle of a fault, which was not undone (machine wa1 is exited, wb1 has the undo of partition, packet-loss): " +
			"run 'holdfast heal demo' first"},
		"the engine is away": {func(h *town, _ map[string]*disk) { h.machine("wa1").err = errors.New("no engine") },
			"look whether cluster demo is as it was: no engine"},
	} {
		t.Run(name, func(t *testing.T) {
			home, disks := ruin()
			test.left(home, disks)
			checkError(t, Undisturbed(t.Context(), home), test.want)
		})
	}
}
