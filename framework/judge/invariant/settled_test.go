package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestASettledStateIsNotMadeUp: of a state that lasted for a fraction of a second, one watch may tell when the other has gone
// on already. Each of them must have told of it itself: the Deployment's controller, that so many pods are all there and
// available, and the watch of pods, so many that are ready; and within the skew of each other.
func TestASettledStateIsNotMadeUp(t *testing.T) {
	zones := invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1}
	const end = 20 * second
	// The Deployment has three pods at the beginning and at the end. In between it is asked for four.
	three := func() *stepped { return newStepped().to("w1", "w3", "w5") }
	fourth := func(s *stepped, ready bool, from, to history.Offset) *stepped {
		p := ht.ReadyPod("backend-4", "w2", history.Added)
		p.Labels = s.pods["backend-1"].Labels
		p.Ready = ready
		s.Pod(from, p)
		p.Change = history.Deleted
		s.Pod(to, p)
		return s
	}
	asked := func(s *stepped, settledFrom, settledTo history.Offset) *stepped {
		s.Workload(9*second, workload(4, 3, 3, true))
		if settledFrom > 0 {
			s.Workload(settledFrom, workload(4, 4, 4, true))
		}
		s.Workload(settledTo, workload(3, 4, 4, false))
		s.Workload(end, workload(3, 3, 3, true))
		return s
	}

	checkAll(t, []sample{
		{"both at once", fourth(asked(three(), 10*second, 12*second), true, 9500*ms, 11*second).Builder, zones, verdict.Held, 0},
		{"the pods just before", fourth(asked(three(), 10*second, 12*second), true, 9200*ms, 9300*ms).Builder, zones, verdict.Held, 0},
		{"the pods long before", fourth(asked(three(), 10400*ms, 12*second), true, 9200*ms, 9300*ms).Builder, zones, verdict.Unknown, 0},
		{"the Deployment just before", fourth(asked(three(), 10*second, 10100*ms), true, 10900*ms, 11*second).Builder, zones, verdict.Held, 0},
		{"the Deployment long before", fourth(asked(three(), 10*second, 10100*ms), true, 11200*ms, 11300*ms).Builder, zones, verdict.Unknown, 0},
		{"the Deployment never said so", fourth(asked(three(), 0, 12*second), true, 9500*ms, 11*second).Builder, zones, verdict.Unknown, 0},
		{"the pods were never so many", asked(three(), 10*second, 12*second).Builder, zones, verdict.Unknown, 0},
		{"the pods were never all ready", fourth(asked(three(), 10*second, 12*second), false, 9500*ms, 11*second).Builder, zones, verdict.Unknown, 0},
	})
}
