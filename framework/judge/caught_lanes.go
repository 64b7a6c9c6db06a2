package judge

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// aboutLanes are the lanes on which a mutant must be caught. Why says what is wrong with the lanes that it names; empty: nothing.
func aboutLanes(f *evidence.Run, m *history.Mutant) (lanes []history.Lane, why string) {
	judged := judgedLanes(f.Record.Header, m)
	if len(judged) == 0 {
		return nil, "no load was planned on a lane that " + m.CaughtBy + " judges"
	}
	for _, lane := range m.Lanes {
		if !slices.Contains(judged, lane) {
			return nil, fmt.Sprintf("the mutant is about lane %s, which %s does not judge, or to which no load was planned", lane, m.CaughtBy)
		}
	}
	if len(m.Lanes) > 0 {
		return m.Lanes, ""
	}
	return judged, ""
}

// judgedLanes are the planned lanes that the promise which a mutant names judges.
func judgedLanes(h history.Header, m *history.Mutant) (lanes []history.Lane) {
	if h.Plan == nil {
		return nil
	}
	var planned []history.Lane
	for _, l := range h.Plan.Lanes {
		planned = append(planned, l.Lane)
	}
	for _, stored := range h.Promises {
		if p, err := invariant.Decode(stored); err == nil && stored.Kind == m.CaughtBy && (len(m.Params) == 0 || sameParams(stored.Params, m.Params)) {
			lanes = append(lanes, LanesOf(p, planned)...)
		}
	}
	slices.Sort(lanes)
	return slices.Compact(lanes)
}

// LanesOf are the lanes with load that a promise judges each by itself, sorted. A promise about one lane, or about no requests, has
// none.
func LanesOf(p invariant.Invariant, planned []history.Lane) (lanes []history.Lane) {
	each, ok := p.(invariant.LaneInvariant)
	if !ok {
		return nil
	}
	lanes = slices.DeleteFunc(slices.Clone(planned), func(l history.Lane) bool { return !invariant.Judges(each.OnLanes(), l) })
	slices.Sort(lanes)
	return slices.Compact(lanes)
}
