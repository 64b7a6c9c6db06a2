package invariant_test

import (
	"errors"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestNotSupportedIsNoReasonNotToJudge: the mark counts only beside the kernel's own words, where nothing else went wrong.
func TestNotSupportedIsNoReasonNotToJudge(t *testing.T) {
	const why = "latency by tc netem is not supported here: Error: Specified qdisc kind is unknown."
	record := func() *ht.Builder { return ht.Unsupported(ht.Healthy(), why) }
	mark := func(b *ht.Builder, edit func(*history.FaultMark)) *ht.Builder {
		return b.EditEvents(func(e *history.Event) {
			if e.Fault != nil && e.Fault.NotSupported != "" {
				edit(e.Fault)
			}
		})
	}
	for name, test := range map[string]struct {
		run  *ht.Builder
		want string
		of   verdict.Outcome // where it is judged
	}{
		"the kernel says so": {record(), why, ""},
		"no mark":            {ht.Healthy(), "", verdict.Held},
		"500 refused requests beside it": {record().Fail(history.LaneFresh, 20*second, 22500*ms, history.Refused), "",
			verdict.Violated},
		"one failed request, on a lane that is not judged": {record().Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt).
			Fail(history.LaneControl, 20*second, 20100*ms, history.Reset), "", verdict.Unknown},
		"a request that failed before the load counted": {record().Load(history.LaneReused, 10, 8*second, 9*second).
			Fail(history.LaneReused, 8*second, 9*second, history.Refused), why, ""},
		"requests that cannot be read": {record().FailReading(errors.New("row 7: cut off")), "", verdict.Unknown},
		"a record that was cut off":    {record().Incomplete("cut off"), "", verdict.Unknown},
		"other words": {mark(record(), func(m *history.FaultMark) { m.NotSupported = "sh: tc: not found" }), "",
			verdict.Unknown},
		"a file that is missing": {mark(record(), func(m *history.FaultMark) {
			m.NotSupported = "crun: open /sys/fs/cgroup: No such file or directory"
		}), "", verdict.Unknown},
		"a mark without an error": {mark(record(), func(m *history.FaultMark) { m.Error = "" }), "", verdict.Unknown},
		"a fault that was seen all the same": {record().Fault(17*second, history.FaultMark{Name: "latency", Stage: history.Seen}), "",
			verdict.Unknown},
		"another fault that failed": {record().Fault(17*second, history.FaultMark{
			ID: 1, Name: "drain one worker", Stage: history.Seen, Error: "no such node"}), "", verdict.Unknown},
		"an undo that failed": {record().Fault(17*second, history.FaultMark{
			Name: "latency", Stage: history.Healed, Error: "no such container"}), "", verdict.Unknown},
		"other trouble": {record().Trouble(18*second, "the load worker is gone"), "", verdict.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			run := test.run.Run()
			verdicts := judge.CheckAll(run, []invariant.Invariant{invariant.NoFailedRequests{}})
			if got := judge.Unsupported(run, verdicts); got != test.want {
				t.Errorf("not supported: %q, want %q", got, test.want)
			}
			if test.want == "" && verdicts[0].Outcome != test.of {
				t.Errorf("it is judged as %s: %s", verdicts[0].Outcome, verdicts[0].Seen)
			}
		})
	}
}
