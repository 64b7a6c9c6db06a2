package historytest

import "github.com/holdfast-ha/holdfast/framework/history"

// Unsupported turns Healthy into the record of a fault that the environment does not support: nothing was disturbed.
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
