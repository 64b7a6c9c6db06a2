package trend

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/reports/nights"
)

// SchemaVersion names the shape of the JSON form. A version may gain fields.
const SchemaVersion = "holdfast.dev/trend/v1"

const (
	// DefaultLast is how many nights of a line are looked at.
	DefaultLast = 30
	// Level is the probability that a trend names any figure although none has moved. It is low because a nightly job asks every night.
	Level = 0.01
)

// Result sums up a trend.
type Result string

// The results.
const (
	Regression Result = "regression"
	Broken     Result = "broken"  // a promise was broken in the last night
	Missing    Result = "missing" // a scenario is gone or was never good, or the last night is not whole
	None       Result = "no regression"
	TooFew     Result = "too few nights"
)

// Trend is what many nights say. Lists are empty, never null.
type Trend struct {
	SchemaVersion string   `json:"schemaVersion"`
	Result        Result   `json:"result"`
	Level         float64  `json:"level"`
	Tested        int      `json:"tested"` // figures that had enough nights, and not always the same value
	Needed        int      `json:"needed"` // nights with a figure that can be told, in the best case
	Lines         []Line   `json:"lines"`
	Changes       []Change `json:"changes"` // the regressions first, then by their P
	NotGood       []Streak `json:"notGood"`
	NotWhole      int      `json:"notWhole,omitempty"` // lines whose last night is not whole
	Left          []string `json:"left"`               // what was left out, and why
}

// Line is the nights that were compared with each other.
type Line struct {
	nights.Line
	Name      string    `json:"name"`
	Nights    int       `json:"nights"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Told      int       `json:"told"`      // figures with enough nights
	TooFew    int       `json:"tooFew"`    // figures with too few nights
	NotJudged int       `json:"notJudged"` // scenarios of nights that have no figures because they were not judged
	Ended     bool      `json:"ended"`     // its last night was long ago, so it was left out
}

// Change is a figure that has moved.
type Change struct {
	Scenario string      `json:"scenario"`
	Line     string      `json:"line"`
	Figure   string      `json:"figure"`
	Unit     nights.Unit `json:"unit"`
	Worse    bool        `json:"worse"`
	Since    Night       `json:"since"` // the first night after the change
	Before   Side        `json:"before"`
	After    Side        `json:"after"`
	// Delta is Cliff's delta, see stats.Shift. P is that of this figure alone, and Corrected is P corrected for the number of figures tested.
	Delta     float64 `json:"delta"`
	P         float64 `json:"p"`
	Corrected float64 `json:"corrected"`
	// Changed is what else is different in the first night from the night before; Near is what changed up to two nights earlier or later, if
	// nothing did in that night: noise can move the point by as much.
	Changed []nights.VersionChange `json:"changed"`
	Near    []Near                 `json:"near"`
}

// Night names a night.
type Night struct {
	ID  string    `json:"id"`
	Dir string    `json:"dir"`
	At  time.Time `json:"at"`
}

// Side is what a figure was on one side of a change.
type Side struct {
	Nights int `json:"nights"`
	// Value is the median, or the share of nights of a verdict.
	Value float64 `json:"value"`
}

// Near is a change of versions close to a change of a figure.
type Near struct {
	Night   Night                  `json:"night"`
	Changed []nights.VersionChange `json:"changed"`
}

// series is a figure of a scenario over the nights of a line that have it.
type series struct {
	line     *Line
	scenario string
	figure   int
	values   []float64
	points   []point
}

// point is where a value is from.
type point struct {
	night    *nights.Night
	scenario *nights.Scenario
}

func (s *series) constant() bool { return slices.Min(s.values) == slices.Max(s.values) }

// Of looks for changes in the last nights of each line.
func Of(all nights.Nights, last int) Trend {
	t := Trend{
		SchemaVersion: SchemaVersion, Level: Level, Lines: []Line{}, Changes: []Change{}, NotGood: []Streak{}, Left: leftOut(all),
	}
	lines := linesOf(all, last)
	var every []series
	for i := range lines {
		l := &lines[i]
		if l.Ended {
			continue
		}
		some := l.series()
		every = append(every, some...)
		next, after := l.next(lines), l.after(lines)
		t.NotGood = append(t.NotGood, l.streaks(next, after)...)
		if len(next)+len(after) == 0 {
			t.NotWhole += notWhole(l.nights[len(l.nights)-1])
		}
	}
	if n := len(all.List); n > 0 && t.NotWhole == 0 {
		t.NotWhole = notWhole(&all.List[n-1])
	}
	possible := 0 // figures that could have moved, if only they had enough nights
	for i := range every {
		if len(every[i].values) >= stats.FewestFor(Level) && !every[i].constant() {
			possible++
		}
	}
	t.Needed = stats.FewestFor(Level / float64(max(1, possible)))
	told := 0
	var tested []*series
	for i := range every {
		s := &every[i]
		if len(s.values) < t.Needed {
			s.line.TooFew++
			continue
		}
		s.line.Told++
		told++
		if !s.constant() { // which no order of the nights can change, so it may be left out without a correction
			tested = append(tested, s)
		}
	}
	t.Tested = len(tested)
	t.Changes = append(t.Changes, changes(tested)...)
	for i := range lines {
		t.Lines = append(t.Lines, lines[i].Line)
	}
	switch {
	case slices.ContainsFunc(t.Changes, func(c Change) bool { return c.Worse }):
		t.Result = Regression
	case slices.ContainsFunc(t.NotGood, func(k Streak) bool { return k.Result.Broken() && !k.Gone }):
		t.Result = Broken
	case t.NotWhole > 0 || slices.ContainsFunc(t.NotGood, func(k Streak) bool { return !k.Success }):
		t.Result = Missing
	case told == 0:
		t.Result = TooFew
	default:
		t.Result = None
	}
	return t
}

// notWhole is 1 for a night that is not whole: it was killed or interrupted, or cannot be read.
func notWhole(n *nights.Night) int { return min(1, len(n.Trouble)) }

// changes tests the series, and returns those that have moved.
func changes(tested []*series) (list []Change) {
	finder := stats.Shifts{Draws: draws(len(tested))}
	shifts := make([]stats.Shift, len(tested))
	ps := make([]float64, len(tested))
	for i, s := range tested {
		finder.Random = rand.New(rand.NewPCG(1, 2)).IntN // the same nights have the same result
		shifts[i] = finder.Of(s.values)
		ps[i] = shifts[i].P
	}
	for i, corrected := range stats.Holm(ps) {
		if corrected <= Level {
			list = append(list, tested[i].change(shifts[i], corrected))
		}
	}
	slices.SortStableFunc(list, func(a, b Change) int {
		if a.Worse != b.Worse {
			return map[bool]int{true: -1, false: 1}[a.Worse]
		}
		return cmp.Compare(a.P, b.P)
	})
	return list
}

// draws is so large that the smallest P is a tenth of what the correction asks for.
func draws(tests int) int { return max(10_000, int(10*float64(tests)/Level)) }

func (s *series) change(shift stats.Shift, corrected float64) Change {
	f := nights.Figures[s.figure]
	first := s.points[shift.At]
	c := Change{
		Scenario: s.scenario, Line: s.line.Name, Figure: f.Name, Unit: f.Unit, Worse: shift.Delta > 0, Since: nameOf(first.night),
		Before: Side{shift.At, shift.Before}, After: Side{len(s.values) - shift.At, shift.After},
		Delta: shift.Delta, P: shift.P, Corrected: corrected, Changed: s.changedAt(shift.At), Near: []Near{},
	}
	if f.Unit == nights.Share {
		c.Before.Value, c.After.Value = mean(s.values[:shift.At]), mean(s.values[shift.At:])
	}
	if len(c.Changed) == 0 {
		c.Near = append(c.Near, s.near(shift.At)...)
	}
	return c
}

// changedAt is what differs in a night from the night before.
func (s *series) changedAt(at int) []nights.VersionChange {
	return append([]nights.VersionChange{}, s.points[at-1].scenario.Versions.To(s.points[at].scenario.Versions)...)
}

func (s *series) near(at int) (list []Near) {
	const reach = 2
	for i := max(1, at-reach); i <= min(len(s.points)-1, at+reach); i++ {
		if changed := s.changedAt(i); len(changed) > 0 {
			list = append(list, Near{nameOf(s.points[i].night), changed})
		}
	}
	return list
}

func nameOf(n *nights.Night) Night { return Night{ID: n.ID, Dir: n.Dir, At: n.At} }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / math.Max(1, float64(len(values)))
}
