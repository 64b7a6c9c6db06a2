package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// trapReach is how long before the SIGTERM of a pod a request must have reached it, so that another one can reach it afterwards: the server of
// a mutant with a trap waits as long for it.
const trapReach = time.Second

// unmet says that no request could reach the trap of a mutant, if it has one: no request on a lane that the mutant is about had a way to a pod
// until the SIGTERM of the pod, which comes after its preStop sleep. Then nothing shows what the server would have done. Empty: one had.
func unmet(f *evidence.Run, m *history.Mutant) string {
	if !m.Trap {
		return ""
	}
	lanes, why := aboutLanes(f, m)
	if why != "" {
		return why
	}
	reached := func(r *history.Request) bool {
		return slices.ContainsFunc(f.Timeline().Pods, func(p *timeline.Pod) bool {
			var sleep time.Duration // zero in an older record
			if p.Lifecycle != nil {
				sleep = p.Lifecycle.PreStop
			}
			return p.Name == r.Pod && p.Requested.OK && p.Requested.At >= f.FirstFault().At && r.Done >= p.Requested.At+sleep-trapReach
		})
	}
	for r, err := range f.Record.Requests() {
		switch {
		case err != nil:
			return err.Error()
		case r.Outcome == history.OK && slices.Contains(lanes, r.Lane) && reached(r):
			return ""
		}
	}
	return fmt.Sprintf("no pod answered a request on %s in the second before its SIGTERM, so that none could be hurt", prose.List(lanes))
}
