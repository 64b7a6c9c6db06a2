package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// stageOrder is the order in which a fault goes through its stages.
var stageOrder = []history.FaultStage{history.Injecting, history.Seen, history.Lasting, history.Healing, history.Healed}

// sensible doubts a record that says what no harness writes: somebody has changed it, or the harness was broken. Checksums tell
// only who has changed a record and did not write them anew.
func (f *facts) sensible() (d doubts) {
	for _, e := range f.run.Events {
		if why := oddTimes(e); why != "" && len(d) == 0 {
			d.add("the record makes no sense at %s: %s", moment(e.T), why)
		}
	}
	phases := make(map[history.PhaseName]int)
	for _, p := range f.run.Phases() {
		if phases[p.Name]++; phases[p.Name] == 2 {
			d.add("phase %s begins twice, and again at %s", p.Name, moment(p.From))
		}
	}
	return append(d, f.stages()...)
}

// oddTimes says what is wrong with the times of an event, if anything is.
func oddTimes(e history.Event) string {
	before := func(at history.Offset) bool { return at < 0 || at > e.T }
	switch {
	case e.T < 0:
		return "it is before the beginning"
	case e.Noise != nil && (before(e.Noise.Since) || e.Noise.Pause < 0 || e.Noise.Throttled < 0 || e.Noise.Steal < 0):
		return "a sample of noise ends before it begins, or is less than nothing"
	case e.Echo != nil && (before(e.Echo.Sent) || e.Echo.Taken < 0):
		return "a change came back before it was made"
	case e.Gap != nil && before(e.Gap.Since):
		return "a gap ends before it begins"
	case e.Clock != nil && e.Clock.Uncertainty < 0:
		return "a clock is better than right"
	}
	return ""
}

// oddRow says what is wrong with the times of a request, if anything is. One worker reads all three from one clock.
func oddRow(r *history.Request) string {
	what := ""
	switch {
	case r.Outcome == history.Unsent && r.Done < r.Due:
		what = "was given up before it was due"
	case r.Outcome == history.Unsent:
		return ""
	case r.Sent < r.Due:
		what = "was sent before it was due"
	case r.Done < r.Sent:
		what = "ended before it was sent"
	default:
		return ""
	}
	return fmt.Sprintf("the record makes no sense: request %d of %s on %s %s", r.Seq, r.Worker, r.Lane, what)
}

// stages doubts faults whose stages come twice, in another order, or under another name. A witness may be asked again whether a fault
// is still in force, or is over. A Seen before Injecting, or after the undo, faultsBit tells.
func (f *facts) stages() (d doubts) {
	reached, names := make(map[int][]history.FaultStage), make(map[int]string)
	for _, e := range f.run.Events {
		mark := e.Fault
		if mark == nil {
			continue
		}
		if name, known := names[mark.ID]; known && name != mark.Name {
			d.add("fault %d is %s, and at %s it is %s", mark.ID, name, moment(e.T), mark.Name)
		}
		names[mark.ID] = mark.Name
		stage := slices.Index(stageOrder, mark.Stage)
		switch had := reached[mark.ID]; {
		case stage < 0:
			d.add("%s has a stage %q at %s, which no fault has", mark.Name, mark.Stage, moment(e.T))
		case mark.Error != "":
			continue
		case slices.Contains(had, mark.Stage) && mark.Stage != history.Lasting && mark.Stage != history.Healed:
			d.add("%s has the stage %s again at %s", mark.Name, mark.Stage, moment(e.T))
		}
		reached[mark.ID] = append(reached[mark.ID], mark.Stage)
	}
	for _, fault := range f.faults {
		if l := fault.Lasting; l.OK && (fault.Seen.OK && l.At < fault.Seen.At || fault.Healing.OK && l.At > fault.Healing.At) {
			d.add("%s was asked at %s whether it was still in force, and not between %s and %s", fault.Name, moment(l.At),
				moment(fault.Seen.At), moment(fault.Healing.At))
		}
	}
	return d
}
