package invariant_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// shownIn are the disturbances that a recording shows.
func shownIn(b *ht.Builder) []disturbances.Disturbance { return disturbances.Read(b.Run()).Shown() }

// recordingAttack is an edit of a recording by which somebody would have it show what it does not show.
type recordingAttack struct {
	name  string
	kinds []string // of promises; none: all
	edit  func(*ht.Builder) bool
	want  []verdict.Outcome
}

var recordingAttacks = []recordingAttack{
	{"every disturbance is lost: the objects stay as they were", nil, func(b *ht.Builder) bool {
		from, _ := b.Run().UnderLoad()
		b.DropEvents(func(e history.Event) bool {
			return e.T >= from && (e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil || e.KubeNote != nil)
		})
		return true
	}, notHeld},
	{"the watch of pods hears nothing any more", []string{"NoFailedRequests", "BudgetHonoured", "RecoversWithin"}, func(b *ht.Builder) bool {
		shown := shownIn(b)
		if slices.ContainsFunc(shown, func(d disturbances.Disturbance) bool {
			return d.Kind == disturbances.Scale || d.Kind == disturbances.NodeLost
		}) {
			return false // what other watches see, too
		}
		from := shown[0].From
		return takesAway(b, func(e history.Event) bool { return e.Pod != nil && e.T >= from })
	}, notHeld},
	{"the load begins when all is over", nil, func(b *ht.Builder) bool {
		over := lastOver(b)
		_, to := b.Run().UnderLoad()
		movePhase(b, history.Steady, over+ms)
		return over+ms < to
	}, onlyUnknown},
	{"the load ends before anything is disturbed", nil, func(b *ht.Builder) bool {
		movePhase(b, history.Drained, shownIn(b)[0].From-ms)
		return true
	}, onlyUnknown},
	{"faults of holdfast's own are put in", nil, func(b *ht.Builder) bool {
		d := shownIn(b)[0]
		for _, stage := range []history.FaultStage{history.Injecting, history.Seen, history.Healing, history.Healed} {
			b.Fault(d.From, history.FaultMark{Name: "it", Stage: stage})
		}
		return true
	}, onlyUnknown},
	{"a disturbance is invented in a recording of nothing: a pod that served nobody", aboutRequests, func(b *ht.Builder) bool {
		from, to := b.Run().UnderLoad()
		pods := podsOf(b)
		b.DropEvents(func(e history.Event) bool {
			return e.T >= from && (e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil || e.KubeNote != nil)
		})
		if len(pods) == 0 {
			return false
		}
		p := pods[0]
		p.Name, p.UID, p.Change, p.Ready, p.Rules = "invented", "uid-invented", history.Added, false, nil
		at := from + (to-from)/2
		b.Pod(at, p)
		p.Change, p.Deleting = history.Modified, true
		b.Pod(at+ms, p)
		p.Change = history.Deleted
		b.Pod(at+2*ms, p)
		return true
	}, notHeld},
	{"the requests end somewhere else", aboutRequests, func(b *ht.Builder) bool {
		asked(b, func(r *history.Recorded) { r.Services = []string{"elsewhere/web"} })
		return true
	}, notHeld},
	{"nobody says where the requests end", aboutRequests, func(b *ht.Builder) bool {
		asked(b, func(r *history.Recorded) { r.Services = nil })
		return true
	}, onlyUnknown},
	{"nothing is sent for a second while it is disturbed", aboutRequests, func(b *ht.Builder) bool {
		at := shownIn(b)[0].From
		return still(b, at, at+1200*ms)
	}, onlyUnknown},
	{"the victims had answered nothing before", aboutRequests, nobodyAnswers, onlyUnknown},
	{"a second of rows is gone, and every count agrees", aboutRequests, func(b *ht.Builder) bool {
		at := shownIn(b)[0].Seen
		materialise(b)
		before := len(b.Requests())
		b.DropRequests(func(r history.Request) bool { return r.Due >= at && r.Due < at+second && r.Lane != history.LaneControl })
		b.Retotal()
		return len(b.Requests()) < before
	}, onlyUnknown},
	{"it is no recording any more", nil, func(b *ht.Builder) bool {
		b.Header(func(h *history.Header) { h.Recorded = nil })
		return true
	}, notHeld},
	{"a command is said to have run, and nothing says when", nil, func(b *ht.Builder) bool {
		asked(b, func(r *history.Recorded) { r.Command = []string{"./upgrade.sh"} })
		return true
	}, onlyUnknown},
	{"pods are said not to have been watched", nil, func(b *ht.Builder) bool {
		asked(b, func(r *history.Recorded) { r.NotWatched = []history.NotWatched{{What: "pods", Why: "forbidden"}} })
		return true
	}, onlyUnknown},
	{"every eviction is said to be a lost node's", []string{"BudgetHonoured"}, func(b *ht.Builder) bool {
		b.EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Disruption == evidence.EvictionReason {
				e.Pod.Disruption = "DeletionByTaintManager"
			}
		})
		return true
	}, onlyUnknown},
	{"failures go on until the load ends", aboutRequests, func(b *ht.Builder) bool {
		at := shownIn(b)[0].Seen
		n := 0
		b.EditRequests(func(r *history.Request) {
			if r.Lane != history.LaneControl && r.Outcome == history.OK && r.Sent >= at && r.Seq%6 == 0 {
				r.Outcome, r.Status = history.BadStatus, 503
				n++
			}
		})
		return n > 0
	}, onlyViolated},
}

// TestAttacksOnRecordings makes every edit in every recording of which a promise that it is about is held.
func TestAttacksOnRecordings(t *testing.T) {
	held := heldRecordings(t)
	for _, a := range recordingAttacks {
		t.Run(a.name, func(t *testing.T) {
			tried := 0
			for _, h := range held {
				if len(a.kinds) > 0 && !slices.Contains(a.kinds, invariant.Kind(h.promise())) {
					continue
				}
				b := h.record.Copy()
				if !a.edit(materialise(b)) {
					continue
				}
				tried++
				v := judge.CheckAll(b.Run(), []invariant.Invariant{h.promise()})[0]
				if !slices.Contains(a.want, v.Outcome) {
					t.Errorf("%s: %s is %s, not one of %s: %s", h.name, v.Kind, v.Outcome, a.want, v.Seen)
				}
				if judge.Overall([]verdict.Verdict{v}) == verdict.Held {
					t.Errorf("%s: the recording is held: %s", h.name, v.Seen)
				}
			}
			if tried == 0 {
				t.Error("there is no recording for it")
			}
		})
	}
}

func takesAway(b *ht.Builder, drop func(history.Event) bool) bool {
	before := len(b.Events())
	b.DropEvents(drop)
	return len(b.Events()) < before
}

// asked edits what was asked of a recording.
func asked(b *ht.Builder, edit func(*history.Recorded)) {
	b.Header(func(h *history.Header) {
		h.Recorded = new(*h.Recorded) // the records of a test share it
		edit(h.Recorded)
	})
}

func movePhase(b *ht.Builder, name history.PhaseName, to history.Offset) {
	b.EditEvents(func(e *history.Event) {
		if e.Phase != nil && e.Phase.Name == name {
			e.T = to
		}
	})
}

func lastOver(b *ht.Builder) (at history.Offset) {
	for _, d := range shownIn(b) {
		at = max(at, d.Over, d.Seen)
	}
	return at
}

func podsOf(b *ht.Builder) (list []history.Pod) {
	for _, e := range b.Events() {
		if e.Pod != nil && e.Pod.Ready && len(e.Pod.Labels) > 0 {
			list = append(list, *e.Pod)
		}
	}
	return list
}

// still moves what was due in a time to its end, as a worker that stood still does it.
func still(b *ht.Builder, from, to history.Offset) bool {
	n := history.Offset(0)
	b.EditRequests(func(r *history.Request) {
		if r.Sent >= from && r.Sent < to && r.Outcome != history.Unsent {
			took := r.Done - r.Sent
			r.Sent = to + n*20_000
			r.Done = r.Sent + took
			n++
		}
	})
	return n > 0
}

// nobodyAnswers gives the answers of the pods that were disturbed to another one.
func nobodyAnswers(b *ht.Builder) bool {
	taken := make(map[string]bool)
	for _, d := range shownIn(b) {
		for _, p := range d.Pods {
			taken[p.Name] = true
		}
	}
	var other *history.Request
	for i := range b.Requests() {
		if r := &b.Requests()[i]; r.Pod != "" && !taken[r.Pod] && r.Outcome == history.OK && r.Lane != history.LaneControl {
			other = new(*r)
			break
		}
	}
	if other == nil {
		return false
	}
	n := 0
	b.EditRequests(func(r *history.Request) {
		if taken[r.Pod] && r.Lane != history.LaneControl && r.Outcome == history.OK {
			r.Pod, r.Node, r.Zone, r.Revision = other.Pod, other.Node, other.Zone, other.Revision
			n++
		}
	})
	return n > 0
}

// withoutSlices drops the slices of a recording, or what they say of pods. A workload need not have a Service, but requests come to some.
func withoutSlices(random *rand.Rand, p invariant.Invariant, b *ht.Builder) string {
	if _, requests := p.(invariant.RequestInvariant); !requests {
		return ""
	}
	switch random.IntN(3) {
	case 0:
		b.EditEvents(func(e *history.Event) {
			if e.Slice != nil {
				e.Slice.Endpoints = nil
			}
		})
		return "slices without endpoints"
	case 1:
		asked(b, func(r *history.Recorded) {
			r.NotWatched = []history.NotWatched{{What: "endpointslices", Why: "this user must not list endpointslices"}}
		})
	}
	b.DropEvents(func(e history.Event) bool { return e.Slice != nil })
	return "no slices"
}

// removeFromRecording is remove for a recording: its disturbances are its faults, and only the times around them count.
func removeFromRecording(random *rand.Rand, need evidence.Part, p invariant.Invariant, b *ht.Builder) string {
	shown := shownIn(b)
	d := shown[random.IntN(len(shown))]
	_, to := b.Run().UnderLoad()
	at := min(d.From+history.Offset(random.Int64N(int64(max(d.Over, d.Seen)-d.From+second))), to-1)
	switch need {
	case evidence.PartWhole:
		if random.IntN(2) == 0 {
			b.Incomplete("it was cut off")
			return "cut off"
		}
		if len(shown) > 1 { // it may be another part's
			for i := range shown {
				b.Trouble(min(shown[i].Seen, to-1), "the disk is full")
			}
			return "trouble everywhere"
		}
		b.Trouble(at, "the disk is full")
		return "trouble"
	case evidence.PartPhases:
		phase := pick(random, history.Steady, history.Drained)
		b.DropEvents(func(e history.Event) bool { return e.Phase != nil && e.Phase.Name == phase })
		return "no phase " + string(phase)
	case evidence.PartFault:
		from, _ := b.Run().UnderLoad()
		b.DropEvents(func(e history.Event) bool { return e.T >= from && (e.Pod != nil || e.Node != nil || e.Workload != nil) })
		return "no disturbance"
	case evidence.PartRevert:
		return "" // nobody reverts what disturbs a recording
	case evidence.PartSlices:
		return withoutSlices(random, p, b)
	case evidence.PartWatches:
		what := pick(random, "pods", "nodes", "endpointslices", "poddisruptionbudgets", "deployments")
		for i := range shown {
			b.Gap(what, max(0, min(shown[i].Seen, to-1)-second), min(shown[i].Seen, to-1))
		}
		return fmt.Sprintf("gaps in the watch of %s", what)
	case evidence.PartRows, evidence.PartClocks:
		return withoutLoad(random, need, p, b)
	case evidence.PartDelivery:
		lane := judgedLane(random, p, b)
		n := 0
		b.EditRequests(func(r *history.Request) {
			if r.Lane == lane && r.Due >= at-second && r.Due < at+second && n%5 == 0 {
				*r = history.Request{Worker: r.Worker, Lane: r.Lane, Seq: r.Seq, Due: r.Due, Done: r.Done, Outcome: history.Unsent}
			}
			n++
		})
		materialise(b).Retotal()
		return fmt.Sprintf("a fifth unsent on %s around %s", lane, at)
	}
	return withoutObjects(need, b)
}
