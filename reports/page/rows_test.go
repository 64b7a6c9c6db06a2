package page

import (
	"testing"

	"github.com/holdfast-ha/holdfast/reports"
)

func TestNodePrefix(t *testing.T) {
	nodes := func(names ...string) []reports.Zone {
		var list []reports.Zone
		for _, n := range names {
			list = append(list, reports.Zone{Nodes: []reports.Node{{Name: n}}})
		}
		return list
	}
	for want, list := range map[string][]reports.Zone{
		"holdfast-a1-": nodes("holdfast-a1-worker", "holdfast-a1-worker2", "", "holdfast-a1-control-plane"),
		"holdfast-":    nodes("holdfast-a1-worker", "holdfast-b-worker"),
		"":             nodes("w1", "holdfast-a1-worker"),
		"e-":           nodes("e-1"),
	} {
		if got := nodePrefix(list); got != want {
			t.Errorf("%v: prefix %q, want %q", list, got, want)
		}
	}
	if got := nodePrefix(nil); got != "" {
		t.Errorf("no nodes: prefix %q", got)
	}
}
