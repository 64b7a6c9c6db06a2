package reports_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func TestGenerations(t *testing.T) {
	s := reporttest.RolledOut()
	for _, p := range s.Zones[0].Nodes[0].Pods {
		want := 0
		if p.Name == "backend-77aa4b-b1" {
			want = 1
		}
		if p.Generation != want {
			t.Errorf("%s is of generation %d, want %d", p.Name, p.Generation, want)
		}
	}
	if got := s.Zones[len(s.Zones)-1]; got.Name != "" || len(got.Nodes[0].Pods) != 2 {
		t.Errorf("the last zone is %+v, want the load node, which has none", got)
	}
}
