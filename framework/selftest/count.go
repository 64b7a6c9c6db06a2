package selftest

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports"
)

// Add counts the results of a run, whose record is in folder. Adding a run twice is an error, because it would count twice.
func (t *Report) Add(folder string, f runfolder.File) error {
	for _, other := range t.Runs {
		if other.ID == f.ID && other.Seed == f.Seed && other.Started.Equal(f.Started) {
			return fmt.Errorf("add run %s in %s: it was added already, from %s", f.ID, folder, other.Folder)
		}
	}
	t.Runs = append(t.Runs, Run{
		ID: f.ID, Folder: folder, Holdfast: f.Holdfast, Kubernetes: kubernetesOf(folder, f), Seed: f.Seed, Started: f.Started, Ended: f.Ended,
		Scenarios: len(f.Scenarios),
	})
	for i := range f.Scenarios {
		s := &f.Scenarios[i]
		if begun := s.Took > 0 || s.Error == ""; begun && !s.Left() { // the others have no result
			t.count(folder, f, s)
		}
	}
	interrupted, notBegun := f.Left()
	t.Interrupted, t.NotBegun = t.Interrupted+interrupted, t.NotBegun+notBegun
	t.sum()
	return nil
}

// kubernetesOf is the version in the first record that names one, otherwise the version that the user asked for.
func kubernetesOf(folder string, f runfolder.File) string {
	for i := range f.Scenarios {
		run, err := history.Open(filepath.Join(folder, filepath.FromSlash(f.Scenarios[i].Dir)))
		if v := run.Header.Cluster.Kubernetes; err == nil && v != "" {
			return v
		}
	}
	return f.Kubernetes
}

// count counts one result.
func (t *Report) count(folder string, f runfolder.File, s *runfolder.ScenarioResult) {
	row := t.row(s.Name)
	note := ""
	if m := s.Mutant; m != nil {
		row.Mutant, row.Trap, row.ByChance = true, m.Trap, m.ByChance
		note = f.TwinNote(*m)
	}
	row.TookSeconds = (row.TookSeconds*float64(row.Runs) + s.Took.Seconds()) / float64(row.Runs+1)
	row.Runs++
	result, why := reports.ResultOf(s)
	switch result {
	case reports.Held:
		row.Held++
	case reports.Violated:
		row.Violated++
	case reports.Caught:
		row.Caught++
	case reports.Missed:
		row.Missed++
	case reports.Escaped:
		row.Escaped++
	case reports.Unknown:
		row.Unknown++
	case reports.Unsupported:
		row.Unsupported++
	default:
		row.NotJudged++
	}
	if note != "" && result == reports.Caught {
		row.CaughtApart++
	}
	if note != "" && result == reports.Missed {
		row.MissedApart++
		why += "; " + note
	}
	if !result.Good() {
		t.Explain = append(t.Explain, Case{
			Scenario: s.Name, Result: result, Why: why, Seed: f.Seed, Record: path.Join(filepath.ToSlash(folder), s.Dir),
			Reproduce: s.Reproduce,
		})
	}
}

func (t *Report) row(name string) *Row {
	i := slices.IndexFunc(t.Scenarios, func(r Row) bool { return r.Scenario == name })
	if i < 0 {
		t.Scenarios = append(t.Scenarios, Row{Scenario: name})
		i = len(t.Scenarios) - 1
	}
	return &t.Scenarios[i]
}

// sum calculates the totals and sorts the worst first.
func (t *Report) sum() {
	var good, apart, chance tries // of mutants
	var held, violated, unknown, notJudged, unsupported, trapped int
	for _, r := range t.Scenarios {
		held, violated, unknown, notJudged = held+r.Held, violated+r.Violated, unknown+r.Unknown, notJudged+r.NotJudged
		unsupported += r.Unsupported
		if r.Trap {
			trapped += r.Caught
		}
		if r.ByChance {
			chance.add(r.Caught, r.Missed+r.Escaped)
			continue
		}
		apart.add(r.CaughtApart, r.MissedApart)
		good.add(r.Caught-r.CaughtApart, r.Missed-r.MissedApart)
	}
	judged := held + violated + good.of + apart.of + chance.of
	t.Summary = Totals{
		Detection: good.rate(), DetectionApart: apart.rate(), ByChance: chance.rate(), Trapped: trapped,
		FalseAlarm: NewRate(violated, held+violated), Unknown: NewRate(unknown, judged+unknown), NotJudged: notJudged,
		Unsupported: unsupported,
	}
	slices.SortFunc(t.Scenarios, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.share(b.Violated+b.Missed), a.share(a.Violated+a.Missed)),
			cmp.Compare(b.share(b.Unknown+b.NotJudged), a.share(a.Unknown+a.NotJudged)), cmp.Compare(a.Scenario, b.Scenario))
	})
	slices.SortStableFunc(t.Explain, func(a, b Case) int {
		return cmp.Or(cmp.Compare(rank(a.Result), rank(b.Result)), cmp.Compare(a.Scenario, b.Scenario))
	})
}

// tries are the judged runs of mutants, and how many of them were caught.
type tries struct{ caught, of int }

func (t *tries) add(caught, missed int) { t.caught, t.of = t.caught+caught, t.of+caught+missed }

func (t tries) rate() Rate { return NewRate(t.caught, t.of) }

func (r Row) share(n int) float64 { return float64(n) / float64(r.Runs) }

// rank sorts results, the worst first.
func rank(r reports.Result) int {
	return slices.Index([]reports.Result{reports.Missed, reports.Violated, reports.Unknown, "", reports.Unsupported}, r)
}

// Result is the worst that was found: Violated for a missed mutant or a false alarm, Interrupted if a round was interrupted, Unknown if
// a verdict or a round is missing.
func (t *Report) Result() reports.Result {
	instrument := reports.Held
	if t.Instrument != nil {
		instrument = t.Instrument.Result()
	}
	mutants := t.Summary.Detection.Of + t.Summary.DetectionApart.Of + t.Summary.ByChance.Of
	nothing := mutants+t.Summary.FalseAlarm.Of == 0
	switch s := t.Summary; {
	case s.Detection.Seen < s.Detection.Of || s.DetectionApart.Seen < s.DetectionApart.Of || s.FalseAlarm.Seen > 0:
		return reports.Violated
	case instrument != reports.Held:
		return instrument
	case t.Asked > 0 && t.Interrupted+t.NotBegun > 0:
		return reports.Interrupted
	case s.Unknown.Seen+s.NotJudged > 0 || t.Whole < t.Asked || nothing && !t.instrumentAlone():
		return reports.Unknown
	}
	return reports.Held
}

// instrumentAlone reports whether only the instrument was to be measured.
func (t *Report) instrumentAlone() bool {
	return t.Instrument != nil && t.Asked == 0 && len(t.Runs) == 0
}
