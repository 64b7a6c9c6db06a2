package audit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Pods count that a hard constraint keeps Pending at this moment, by the message about each of them.
func TestPendingOnConstraints(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const spread, full = "0/8 nodes are available: 8 node(s) didn't match pod topology spread constraints.", "0/8 nodes are available: 8 Insufficient cpu."
	c := Cluster{Taken: now, Workloads: []Workload{
		{Kind: Deployment, Namespace: shop, Name: "kept", Replicas: 4, Pods: []Pod{
			{Name: "placed", Node: "a1"},
			{Name: "for want of room", Unschedulable: now.Add(-time.Hour), Said: full},
			{Name: "second", Unschedulable: now.Add(-time.Second), Said: spread + " second"},
			{Name: "first", Unschedulable: now.Add(-time.Minute), Said: spread + " first"},
			{Name: "going", Unschedulable: now.Add(-time.Hour), Said: spread, Going: true},
			{Name: "by a scheduler whose clock is fast", Unschedulable: now.Add(time.Minute), Said: spread},
		}},
		{Kind: Deployment, Namespace: shop, Name: "full", Replicas: 1, Pods: []Pod{{Name: "p", Unschedulable: now.Add(-time.Hour), Said: full}}},
		{Kind: StatefulSet, Namespace: shop, Name: "placed", Replicas: 1, Pods: []Pod{{Name: "p", Node: "a1"}}},
	}}
	for _, n := range fleet() {
		c.Nodes = append(c.Nodes, *n)
	}
	want := []Pending{{Namespace: shop, Kind: Deployment, Name: "kept", Pods: 3, Since: now.Add(-time.Minute), Said: spread + " first"}}
	if diff := cmp.Diff(want, PendingOnConstraints(c)); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
}
