package evidence

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// stageOrder is the order of a fault's stages.
var stageOrder = []history.FaultStage{history.Injecting, history.Seen, history.Lasting, history.Healing, history.Healed}

// sensible reports contradictions that no harness writes: the record was edited, or the harness is broken. Checksums find only edits
// after which they were not recomputed.
func (f *Run) sensible() (d verdict.Missing) {
	for _, e := range f.Record.Events {
		if why := oddTimes(e); why != "" && len(d) == 0 {
			d.Add("the record contradicts itself at %s: %s", prose.Moment(e.T), why)
		}
	}
	phases := make(map[history.PhaseName]int)
	for _, p := range f.Record.Phases() {
		if phases[p.Name]++; phases[p.Name] == 2 {
			d.Add("phase %s begins more than once, again at %s", p.Name, prose.Moment(p.From))
		}
	}
	return append(d, f.stages()...)
}

// oddTimes describes the contradiction in the times of an event; empty: there is none.
func oddTimes(e history.Event) string {
	before := func(at history.Offset) bool { return at < 0 || at > e.T }
	switch {
	case e.T < 0:
		return "it is before the beginning"
	case e.Noise != nil && (before(e.Noise.Since) || e.Noise.Pause < 0 || e.Noise.Throttled < 0 || e.Noise.Steal < 0 || e.Noise.CPU < 0 || e.Noise.Used < 0):
		return "a sample of noise ends before it begins, or is negative"
	case e.Noise != nil && e.Noise.Groups != nil && e.Noise.Groups.Quota != nil && (e.Noise.Groups.Quota.Held < 0 || e.Noise.Groups.Quota.Used < 0):
		return "a quota held something back for a negative time"
	case e.Echo != nil && (before(e.Echo.Sent) || e.Echo.Taken < 0):
		return "a change was seen before it was made"
	case e.Gap != nil && before(e.Gap.Since):
		return "a gap ends before it begins"
	case e.Clock != nil && e.Clock.Uncertainty < 0:
		return "the uncertainty of a clock is negative"
	}
	return ""
}

// Contradiction describes the contradiction in the times of a request, which one worker reads from one clock; empty: there is none.
func Contradiction(r *history.Request) string {
	what := ""
	switch {
	case r.Outcome == history.Unsent && r.Done < r.Due:
		what = "was abandoned before it was due"
	case r.Outcome == history.Unsent:
		return ""
	case r.Sent < r.Due:
		what = "was sent before it was due"
	case r.Done < r.Sent:
		what = "ended before it was sent"
	default:
		return ""
	}
	return fmt.Sprintf("the record contradicts itself: request %d of %s on %s %s", r.Seq, r.Worker, r.Lane, what)
}

// stages reports faults whose stages repeat, or that change their name. A witness may be asked more than once whether a fault is active
// or over. FaultsActive reports a stage Seen before Injecting or after the revert.
func (f *Run) stages() (d verdict.Missing) {
	reached, names := make(map[int][]history.FaultStage), make(map[int]string)
	for _, e := range f.Record.Events {
		mark := e.Fault
		if mark == nil {
			continue
		}
		if name, known := names[mark.ID]; known && name != mark.Name {
			d.Add("fault %d is named %s, and at %s it is named %s", mark.ID, name, prose.Moment(e.T), mark.Name)
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
			d.Add("%s was checked at %s, but not between %s and %s", fault.Name, prose.Moment(l.At),
				prose.Moment(fault.Seen.At), prose.Moment(fault.Healing.At))
		}
	}
	return d
}
