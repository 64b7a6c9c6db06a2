package export

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Counts are an export's numbers of requests of one lane of a scenario.
type Counts struct {
	Scenario string
	Lane     history.Lane
	// Requests were sent under load. OK and Failed of them succeeded and failed. Masked of the failed ones only look
	// successful, because the client's transport silently retried them.
	Requests, OK, Failed, Masked uint64
	// Unsent were due under load and never sent. Outside were due before the load began or after its end.
	Unsent, Outside uint64
}

// String returns the counts as a line of text.
func (c Counts) String() string {
	return fmt.Sprintf("%s %s: %d requests, %d ok, %d failed (%d masked); besides %d unsent, %d not due under load",
		c.Scenario, c.Lane, c.Requests, c.OK, c.Failed, c.Masked, c.Unsent, c.Outside)
}

// scope selects the requests of a record that are exported.
type scope struct {
	scenario string
	lanes    []history.Lane // none: all but the control lane
	from, to history.Offset // under load
}

func scopeOf(run history.Run, lanes []history.Lane) scope {
	s := scope{scenario: run.Header.Scenario, lanes: lanes}
	s.from, s.to = run.UnderLoad()
	return s
}

func (s scope) wants(lane history.Lane) bool {
	if len(s.lanes) == 0 {
		return lane != history.LaneControl
	}
	return slices.Contains(s.lanes, lane)
}

func (s scope) underLoad(r *history.Request) bool { return r.Due >= s.from && r.Due < s.to }

// counted are the counts of lanes, in the order in which the lanes first occur.
type counted []Counts

// add counts a request, and reports whether it was sent under load.
func (c *counted) add(s scope, r *history.Request) bool {
	i := slices.IndexFunc(*c, func(n Counts) bool { return n.Lane == r.Lane })
	if i < 0 {
		i = len(*c)
		*c = append(*c, Counts{Scenario: s.scenario, Lane: r.Lane})
	}
	n := &(*c)[i]
	switch {
	case !s.underLoad(r):
		n.Outside++
		return false
	case r.Outcome == history.Unsent:
		n.Unsent++
		return false
	case r.Outcome == history.Masked:
		n.Masked++
		fallthrough
	case r.Outcome.Failed():
		n.Failed++
	default:
		n.OK++
	}
	n.Requests++
	return true
}

func (c counted) sorted() []Counts {
	slices.SortFunc(c, func(a, b Counts) int { return cmp.Compare(a.Lane, b.Lane) })
	return c
}
