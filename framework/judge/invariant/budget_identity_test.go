package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// successor has a pod of the name of backend-n, as a StatefulSet makes it, be seen for the first time, not ready yet.
func successor(b *ht.Builder, n string, uid string, at history.Offset) *ht.Builder {
	p := ht.ReadyPod("backend-"+n, "w4", history.Added)
	p.UID, p.Ready = uid, false
	return b.Pod(at, p)
}

// TestBudgetKnowsPodsByUID: a StatefulSet makes a pod of the same name. It is not the one that was evicted, and an eviction
// of the one says nothing of an eviction of the other.
func TestBudgetKnowsPodsByUID(t *testing.T) {
	all := invariant.BudgetHonoured{}

	named := func(uid string, b *ht.Builder) *ht.Builder {
		return b.EditEvents(func(e *history.Event) {
			if e.Eviction != nil && e.Eviction.Pod == "backend-2" {
				e.Eviction.UID = uid
			}
		})
	}
	own := ht.ReadyPod("backend-2", "w2", history.Modified).UID
	again := ht.ReadyPod("backend-2", "w4", history.Modified) // the successor is ready, and evicted by somebody else
	again.UID = "again"
	evictedAgain := again
	evictedAgain.Deleting, evictedAgain.Disruption = true, "EvictionByEvictionAPI"
	legalThenNot := func() *ht.Builder {
		b := evict(ht.Healthy(), 2, 22*second) // when the replacement of the first is ready
		return b.Pod(23*second, again).Pod(30*second, evictedAgain).Pod(30*second, func() history.Pod {
			p := ht.ReadyPod("backend-3", "w3", history.Modified)
			p.Deleting, p.Disruption = true, "EvictionByEvictionAPI"
			return p
		}())
	}
	checkAll(t, []sample{
		{"a successor within the second, in an old record", successor(evict(ht.Healthy(), 2, 17500*ms), "2", "again", 18*second), all, verdict.Violated, 17500 * ms},
		{"a successor within the second, and the UID is known", named(own, successor(evict(ht.Healthy(), 2, 17500*ms), "2", "again", 17400*ms)), all,
			verdict.Violated, 17500 * ms},
		{"a successor that others evict", legalThenNot(), all, verdict.Violated, 30 * second},
		{"a UID that the record does not know", named("who", evict(ht.Healthy(), 2, 22*second)), all, verdict.Unknown, 0},
		{"accepted twice for the same pod", named(own, evict(ht.Healthy(), 2, 22*second).Eviction(22100*ms, history.Eviction{Pod: "backend-2", Accepted: true})),
			all, verdict.Held, 0},
	})
}

// TestBudgetWhoseAnswerIsLost: an eviction whose answer was lost was decided at some time between when it was asked for and
// when the pod was told to go; if the pod went without a reason, whether it was accepted is not known.
func TestBudgetWhoseAnswerIsLost(t *testing.T) {
	all := invariant.BudgetHonoured{}
	lost := func(b *ht.Builder, sent, at history.Offset) *ht.Builder {
		return b.Eviction(at, history.Eviction{Pod: "backend-2", UID: ht.ReadyPod("backend-2", "w2", history.Modified).UID, Lost: "connection reset", Sent: sent})
	}
	told := func(at history.Offset, disruption string) *ht.Builder {
		p := ht.ReadyPod("backend-2", "w2", history.Modified)
		p.Deleting, p.Disruption = true, disruption
		return ht.Healthy().Pod(at, p)
	}

	checkAll(t, []sample{
		{"it was not accepted", lost(ht.Healthy(), 18*second, 18100*ms), all, verdict.Held, 0},
		{"the pod was told to go for it, too early", lost(told(17500*ms, "EvictionByEvictionAPI"), 17300*ms, 17400*ms), all, verdict.Violated, 17500 * ms},
		{"the pod went, and nothing says why", lost(told(22*second, ""), 21900*ms, 22100*ms), all, verdict.Unknown, 0},
		{"the pod had gone long before", lost(told(22*second, ""), 24*second, 24100*ms), all, verdict.Held, 0},
		{"of a pod that is not known", ht.Healthy().Eviction(18*second, history.Eviction{Pod: "backend-9", Lost: "connection reset", Sent: 17 * second}),
			all, verdict.Held, 0},
		{"it may have been decided before the replacement was ready", lost(told(22*second, "EvictionByEvictionAPI").DropEvents(func(e history.Event) bool {
			return e.Pod != nil && e.Pod.Name == "backend-2" && e.Pod.Deleting
		}).Eviction(22*second, history.Eviction{Pod: "backend-2", Accepted: true}), 17300*ms, 21*second), all, verdict.Unknown, 0},
	})
}
