package evidence

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// stageOrder is the order in which a fault goes through its stages.
var stageOrder = []history.FaultStage{history.Injecting, history.Seen, history.Lasting, history.Healing, history.Healed}

// sensible doubts a record that says what no harness writes: somebody has changed it, or the harness was broken. Checksums tell
// only who has changed a record and did not write them anew.
func (f *Run) sensible() (d verdict.Missing) {
	for _, e := range f.Record.Events {
		if why := oddTimes(e); why != "" && len(d) == 0 {
			d.Add("the record makes no sense at %s: %s", prose.Moment(e.T), why)
		}
	}
	phases := make(map[history.PhaseName]int)
	for _, p := range f.Record.Phases() {
		if phases[p.Name]++; phases[p.Name] == 2 {
			d.Add("phase %s begins twice, and again at %s", p.Name, prose.Moment(p.From))
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

// OddRow says what is wrong with the times of a request, if anything is. One worker reads all three from one clock.
func OddRow(r *history.Request) string {
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
// is still in force, or is over. A Seen before Injecting, or after the undo, FaultsActive tells.
func (f *Run) stages() (d verdict.Missing) {
	reached, names := make(map[int][]history.FaultStage), make(map[int]string)
	for _, e := range f.Record.Events {
		mark := e.Fault
		if mark == nil {
			continue
		}
		if name, known := names[mark.ID]; known && name != mark.Name {
			d.Add("fault %d is %s, and at %s it is %s", mark.ID, name, prose.Moment(e.T), mark.Name)
		}
		names[mark.ID] = mark.Name
		stage := slices.Index(stageOrder, mark.Stage)
		switch had := reached[mark.ID]; {
		case stage < 0:
			d.Add("%s has a stage %q at %s, which no fault has", mark.Name, mark.Stage, prose.Moment(e.T))
		case mark.Error != "":
			continue
		case slices.Contains(had, mark.Stage) && mark.Stage != history.Lasting && mark.Stage != history.Healed:
			d.Add("%s has the stage %s again at %s", mark.Name, mark.Stage, prose.Moment(e.T))
		}
		reached[mark.ID] = append(reached[mark.ID], mark.Stage)
	}
	for _, fault := range f.Faults {
		if l := fault.Lasting; l.OK && (fault.Seen.OK && l.At < fault.Seen.At || fault.Healing.OK && l.At > fault.Healing.At) {
			d.Add("%s was asked at %s whether it was still in force, and not between %s and %s", fault.Name, prose.Moment(l.At),
				prose.Moment(fault.Seen.At), prose.Moment(fault.Healing.At))
		}
	}
	return d
}
