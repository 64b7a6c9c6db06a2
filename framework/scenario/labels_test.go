package scenario_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

func TestLabels(t *testing.T) {
	for _, test := range []struct {
		spec scenario.Spec
		want []string
	}{
		{scenario.Spec{Name: "conformance/a"}, []string{"conformance", "short"}},
		{
			scenario.Spec{
				Name: "mutants/b", Full: true, Load: []load.Lane{{}}, Gateway: &workloads.Gateway{}, Mutant: &history.Mutant{},
				Faults: []fault.Fault{fault.NodeKill{}, fault.EtcdLeaderKill{}, fault.NodeKill{}},
			},
			[]string{"etcd-leader-kill", "full", "gateway", "load", "mutant", "mutants", "node-kill"},
		},
		{scenario.Spec{Name: "chaos/c-stock", Full: true}, []string{"chaos", "full", "stock"}},
	} {
		if diff := cmp.Diff(test.want, test.spec.Labels()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.spec.Name, diff)
		}
	}
}
