package historytest

import "github.com/holdfast-ha/holdfast/framework/history"

// Unsupported makes of Healthy the record of a fault that could not be done, and of which the harness says why: nothing was
// disturbed.
func Unsupported(b *Builder, why string) *Builder {
	b.DropEvents(func(e history.Event) bool {
		object := e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil
		return e.Fault != nil || e.Eviction != nil || object && e.T >= DisturbedAt
	})
	failed := "latency: " + why
	b.Fault(InjectingAt, history.FaultMark{Name: "latency", Stage: history.Injecting})
	b.Fault(SeenAt, history.FaultMark{Name: "latency", Stage: history.Seen, Error: failed, NotSupported: why})
	b.Fault(SeenAt, history.FaultMark{Name: "latency", Stage: history.Healing})
	b.Fault(SeenAt, history.FaultMark{Name: "latency", Stage: history.Healed})
	return b.Trouble(SeenAt, "play the scenario: "+failed)
}
