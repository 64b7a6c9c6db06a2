package historytest

import "github.com/holdfast-ha/holdfast/framework/history"

// AsRecording makes the record one of a recording of the same cluster: without faults, evictions and steps of the harness's own, with the
// phases Steady and Drained alone. Services are those behind which its requests end, as namespace/name; none: it is without load.
func (b *Builder) AsRecording(services ...string) *Builder {
	b.Header(func(h *history.Header) {
		h.Recorded = &history.Recorded{Services: services}
		if len(services) > 0 {
			h.Recorded.Load = history.LoadInside
		}
		h.Mutant, h.Promises = nil, nil
	})
	return b.DropEvents(func(e history.Event) bool {
		phase := e.Phase != nil && e.Phase.Name != history.Steady && e.Phase.Name != history.Drained
		return phase || e.Fault != nil || e.Eviction != nil || e.Step != nil || e.Reach != nil
	})
}
