package historytest

import "github.com/holdfast-ha/holdfast/framework/history"

// copyPayloads copies each event's payload, so that a returned run does not change when the Builder is used further. Maps
// and slices within payloads are shared, because nothing edits them in place.
func copyPayloads(events []history.Event) {
	for i := range events {
		e := &events[i]
		e.Header, e.Phase, e.Fault = clone(e.Header), clone(e.Phase), clone(e.Fault)
		e.Step = clone(e.Step)
		e.Pod, e.Node, e.Workload, e.Server = clone(e.Pod), clone(e.Node), clone(e.Workload), clone(e.Server)
		e.Slice, e.Budget, e.Eviction = clone(e.Slice), clone(e.Budget), clone(e.Eviction)
		e.Audit, e.Admission, e.Warning = clone(e.Audit), clone(e.Admission), clone(e.Warning)
		e.KubeNote, e.Gap, e.Clock = clone(e.KubeNote), clone(e.Gap), clone(e.Clock)
		e.Noise, e.Echo, e.Gateway = clone(e.Noise), clone(e.Echo), clone(e.Gateway)
		e.Reach, e.Share = clone(e.Reach), clone(e.Share)
		e.Load, e.Segment, e.Trouble = clone(e.Load), clone(e.Segment), clone(e.Trouble)
		e.End, e.Resumed = clone(e.End), clone(e.Resumed)
	}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
