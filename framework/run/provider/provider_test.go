package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

type engineOn struct{ elsewhere bool }

func (e engineOn) Elsewhere() bool { return e.elsewhere }

func (engineOn) Machine() (cpus int, arch, kernel string) { return 300, "arm64", "6.10.14-linuxkit" }

// Figures of a run depend on the machine that its nodes share, and not on the one that holdfast was started on.
func TestMachineOfTheNodes(t *testing.T) {
	for elsewhere, want := range map[bool]*runfolder.Machine{
		false: runfolder.ThisMachine(),
		true:  {Cores: 300, Arch: "arm64", Kernel: "6.10.14-linuxkit"},
	} {
		if diff := cmp.Diff(want, machineOf(engineOn{elsewhere})); diff != "" {
			t.Errorf("elsewhere %t (-want +got):\n%s", elsewhere, diff)
		}
	}
}
