package disturbances_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
)

// A marked recording has a fault for each disturbance, and each phase once, in order. The recording itself stays as it is.
func TestMarked(t *testing.T) {
	run := historytest.Healthy().AsRecording("ns/backend").Run()
	before := len(run.Events)
	r := disturbances.Read(run)
	marked := r.Marked()
	if len(r.All) == 0 || len(timeline.Faults(marked)) != len(r.All) {
		t.Errorf("%d faults of %d disturbances", len(timeline.Faults(marked)), len(r.All))
	}
	var phases []history.PhaseName
	last := history.Offset(0)
	for _, e := range marked.Events {
		if e.Phase != nil {
			phases = append(phases, e.Phase.Name)
		}
		if e.T < last {
			t.Fatalf("an event of %s comes after one of %s", e.T, last)
		}
		last = e.T
	}
	if len(phases) != 4 || phases[0] != history.Steady || phases[3] != history.Drained {
		t.Errorf("phases %v", phases)
	}
	if len(run.Events) != before || len(timeline.Faults(run)) > 0 {
		t.Error("the recording was changed")
	}
}

// A drain, an eviction and a rollout are active until the last of their pods has ended, and not only until it was told to: load of ten requests a second
// may have none on its way in the moment in which a single pod is evicted. A scaling is active until the workload is settled.
func TestVoluntaryDisturbancesLastAsLongAsTheyHaveAnEffect(t *testing.T) {
	run := historytest.Healthy().AsRecording("ns/backend").Run()
	r := disturbances.Read(run)
	_, during := run.UnderLoad()
	lives := timeline.Faults(r.Marked())
	checked := 0
	for i, d := range r.All {
		life := lives[i]
		if d.Open || !life.Healed.OK {
			continue
		}
		want := life.Healing.At
		for _, e := range run.Events {
			if e.Pod == nil || e.Pod.Change != history.Deleted {
				continue
			}
			for _, p := range d.Pods {
				if p.UID == e.Pod.UID && d.Kind.Voluntary() {
					want = max(want, min(e.T, during))
					checked++
				}
			}
		}
		changes := d.Kind == disturbances.Rollout || d.Kind == disturbances.Scale
		if life.Healed.At < want || !changes && life.Healed.At != want || life.Healing.At < d.Over {
			t.Errorf("%s: being reverted from %s, reverted at %s, want %s", d.Name, life.Healing.At, life.Healed.At, want)
		}
	}
	if checked == 0 {
		t.Error("no pod of a voluntary disturbance has ended: nothing is shown")
	}
}

// A pod that is added takes effect when it is ready, and not when it is created. One that never is ready is what the recording ends with.
func TestAScaleUpLastsUntilItsPodIsReady(t *testing.T) {
	for name, test := range map[string]struct {
		ready bool
		want  history.Offset
	}{"ready": {true, 17 * s}, "never": {false, 1000 * s}} {
		b := cluster().AsRecording("shop/a")
		workload(b, 12*s, 4, "t1")
		b.EditEvents(func(e *history.Event) {
			if e.Workload != nil && e.T == 12*s {
				e.Workload.Available, e.Workload.Ready = 3, 3
			}
		})
		born(b, 12*s, "a-4", "w1", "r1")
		if test.ready {
			workload(b, 17*s, 4, "t1")
		}
		lives := timeline.Faults(disturbances.Read(b.Run()).Marked())
		if len(lives) != 1 || lives[0].Injecting.At != 12*s || lives[0].Healed.At != test.want {
			t.Errorf("%s: %+v", name, lives)
		}
	}
}
