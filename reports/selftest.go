package reports

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// The names of what a selftest writes, in its folder. RoundPattern is the form of its rounds' folders.
const (
	SelftestMarkdownFile = "selftest.md"
	SelftestJSONFile     = "selftest.json"
	RoundFormat          = "round-%03d"
	roundPattern         = "round-*"
)

// SelftestVersion is the version of selftest.json. A field is added without a new one; what changes or goes, takes it.
const SelftestVersion = 1

// Selftest says how good the harness is, by many seeded runs: how often it caught what is broken on purpose, and how often
// it said Violated of what should hold.
type Selftest struct {
	Version   int            `json:"version"`
	ID        string         `json:"id"`
	Asked     int            `json:"asked,omitempty"` // rounds; 0: stored runs were added up
	Whole     int            `json:"whole,omitempty"` // rounds that came to their end
	Runs      []SelftestRun  `json:"runs"`
	Summary   SelftestRates  `json:"summary"`
	Scenarios []SelftestRow  `json:"scenarios"`         // the worst first
	Explain   []SelftestCase `json:"explain,omitempty"` // whatever was not Held or Caught, the worst first
	Remarks   []string       `json:"remarks,omitempty"` // on what could not be read
	// Interrupted and NotBegun are scenarios' runs that a signal left without an end, or without a beginning. They count for nothing.
	Interrupted int `json:"interrupted,omitempty"`
	NotBegun    int `json:"notBegun,omitempty"`
	// Instrument is what was measured without a cluster; nil: nothing was.
	Instrument *Instrument `json:"instrument,omitempty"`
}

// SelftestRun is a run that was added.
type SelftestRun struct {
	ID         string    `json:"id"`
	Folder     string    `json:"folder"`
	Holdfast   string    `json:"holdfast"`
	Kubernetes string    `json:"kubernetes,omitempty"` // that its first scenario ran on
	Seed       uint64    `json:"seed"`
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"`
	Scenarios  int       `json:"scenarios"`
}

// SelftestRates are the totals.
type SelftestRates struct {
	// Detection is of the runs of mutants that were judged, and whose twin held in the same run: those that were caught. Unknown is
	// neither.
	Detection Rate `json:"detection"`
	// DetectionApart is the same where the twin did not hold, or was not run: there it may be the scenario that was caught.
	DetectionApart Rate `json:"detectionApart"`
	// ByChance is the same of mutants that are caught by chance alone. None of them is demanded.
	ByChance Rate `json:"byChance"`
	// Trapped is how many of the caught had a server that sets a trap.
	Trapped int `json:"trapped"`
	// FalseAlarm is of the judged runs of what should hold: those that were Violated.
	FalseAlarm Rate `json:"falseAlarm"`
	// Unknown is of all runs that came to a verdict.
	Unknown Rate `json:"unknown"`
	// NotJudged are runs that the harness or its surroundings failed in.
	NotJudged int `json:"notJudged"`
	// Unsupported are runs that could not be tried where they were. They count for nothing.
	Unsupported int `json:"unsupported,omitempty"`
}

// SelftestRow counts the runs of one scenario by what came of them.
type SelftestRow struct {
	Scenario string `json:"scenario"`
	Mutant   bool   `json:"mutant,omitempty"`
	Runs     int    `json:"runs"`
	Held     int    `json:"held"`
	Violated int    `json:"violated"`
	Caught   int    `json:"caught"`
	Missed   int    `json:"missed"`
	// CaughtApart and MissedApart are how many of these were without a twin that held in the same run.
	CaughtApart int `json:"caughtApart,omitempty"`
	MissedApart int `json:"missedApart,omitempty"`
	// Escaped are the runs in which a mutant was not caught that is caught by chance.
	Escaped   int  `json:"escaped,omitempty"`
	ByChance  bool `json:"byChance,omitempty"`
	Trap      bool `json:"trap,omitempty"` // its server waits for a request that it can hurt
	Unknown   int  `json:"unknown"`
	NotJudged int  `json:"notJudged"`
	// Unsupported runs could not be tried where they were.
	Unsupported int `json:"unsupported,omitempty"`
	// Took is the mean, in seconds.
	TookSeconds float64 `json:"tookSeconds"`
}

// SelftestCase is one run of one scenario that leaves something to explain.
type SelftestCase struct {
	Scenario  string `json:"scenario"`
	Result    Result `json:"result"` // empty: not judged
	Why       string `json:"why"`
	Seed      uint64 `json:"seed"`
	Record    string `json:"record"`
	Reproduce string `json:"reproduce,omitempty"`
}

// NewSelftest has nothing in it yet.
func NewSelftest(id string) *Selftest {
	return &Selftest{Version: SelftestVersion, ID: id, Runs: []SelftestRun{}, Scenarios: []SelftestRow{}}
}

// Add counts what a run found. Folder is where its record lies. The same run twice is an error: it would count double.
func (t *Selftest) Add(folder string, f history.RunFile) error {
	for _, other := range t.Runs {
		if other.ID == f.ID && other.Seed == f.Seed && other.Started.Equal(f.Started) {
			return fmt.Errorf("add run %s in %s: it was added already, from %s", f.ID, folder, other.Folder)
		}
	}
	t.Runs = append(t.Runs, SelftestRun{
		ID: f.ID, Folder: folder, Holdfast: f.Holdfast, Kubernetes: kubernetesOf(folder, f), Seed: f.Seed, Started: f.Started, Ended: f.Ended,
		Scenarios: len(f.Scenarios),
	})
	for i := range f.Scenarios {
		s := &f.Scenarios[i]
		if begun := s.Took > 0 || s.Error == ""; begun && !s.Left() { // the others say nothing
			t.count(folder, f, s)
		}
	}
	interrupted, notBegun := f.Left()
	t.Interrupted, t.NotBegun = t.Interrupted+interrupted, t.NotBegun+notBegun
	t.sum()
	return nil
}

// kubernetesOf a run is what its first record names; else what was asked for, if anything was.
func kubernetesOf(folder string, f history.RunFile) string {
	for i := range f.Scenarios {
		run, err := history.Open(filepath.Join(folder, filepath.FromSlash(f.Scenarios[i].Dir)))
		if v := run.Header.Cluster.Kubernetes; err == nil && v != "" {
			return v
		}
	}
	return f.Kubernetes
}

// count takes one result.
func (t *Selftest) count(folder string, f history.RunFile, s *history.ScenarioResult) {
	row := t.row(s.Name)
	note := ""
	if m := s.Mutant; m != nil {
		row.Mutant, row.Trap, row.ByChance = true, m.Trap, m.ByChance
		note = f.TwinNote(*m)
	}
	row.TookSeconds = (row.TookSeconds*float64(row.Runs) + s.Took.Seconds()) / float64(row.Runs+1)
	row.Runs++
	result, why := resultIn(s)
	switch result {
	case Held:
		row.Held++
	case Violated:
		row.Violated++
	case Caught:
		row.Caught++
	case Missed:
		row.Missed++
	case Escaped:
		row.Escaped++
	case Unknown:
		row.Unknown++
	case Unsupported:
		row.Unsupported++
	default:
		row.NotJudged++
	}
	if note != "" && result == Caught {
		row.CaughtApart++
	}
	if note != "" && result == Missed {
		row.MissedApart++
		why += "; " + note
	}
	if !result.Good() {
		t.Explain = append(t.Explain, SelftestCase{
			Scenario: s.Name, Result: result, Why: why, Seed: f.Seed, Record: path.Join(filepath.ToSlash(folder), s.Dir),
			Reproduce: s.Reproduce,
		})
	}
}

// resultIn run.json of a scenario, and why. Whatever word a newer harness may write, only held is Held. Empty: not judged.
func resultIn(s *history.ScenarioResult) (Result, string) {
	if s.NotSupported != "" && s.Error == "" && s.Outcome == "" {
		return Unsupported, s.NotSupported
	}
	verdicts, err := verdictsOf(s)
	if err != nil {
		return Unknown, err.Error()
	}
	switch {
	case s.Error != "" || s.Outcome == "":
		return "", cmp.Or(s.Error, "nothing was judged")
	case s.Mutant != nil:
		caught, err := caughtOf(s, verdicts)
		if err != nil {
			return Unknown, err.Error()
		}
		return (&Mutant{Verdict: new(newVerdict(caught))}).sumUp("")
	}
	var judged Scenario
	judged.conclude(verdicts)
	return resultOf(verdict.Outcome(s.Outcome)), judged.Why
}

// caughtOf is the verdict on a mutant, as run.json has it. One of an older version has its outcome alone.
func caughtOf(s *history.ScenarioResult, verdicts []verdict.Verdict) (caught verdict.Verdict, err error) {
	if len(s.Caught) > 0 {
		if err := json.Unmarshal(s.Caught, &caught); err != nil {
			return caught, fmt.Errorf("read the verdict on the mutant %s: %w", s.Name, err)
		}
	}
	if outcome := verdict.Outcome(s.Outcome); caught.Outcome != outcome {
		caught = verdict.Verdict{Outcome: outcome, Seen: "no promise that is to catch it was judged"}
		for _, v := range verdicts {
			if v.Kind == s.Mutant.CaughtBy {
				caught.Seen = v.Seen
			}
		}
	}
	return caught, nil
}

func (t *Selftest) row(name string) *SelftestRow {
	i := slices.IndexFunc(t.Scenarios, func(r SelftestRow) bool { return r.Scenario == name })
	if i < 0 {
		t.Scenarios = append(t.Scenarios, SelftestRow{Scenario: name})
		i = len(t.Scenarios) - 1
	}
	return &t.Scenarios[i]
}

// sum makes the totals anew, and puts the worst first.
func (t *Selftest) sum() {
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
	t.Summary = SelftestRates{
		Detection: good.rate(), DetectionApart: apart.rate(), ByChance: chance.rate(), Trapped: trapped,
		FalseAlarm: rateOf(violated, held+violated), Unknown: rateOf(unknown, judged+unknown), NotJudged: notJudged,
		Unsupported: unsupported,
	}
	slices.SortFunc(t.Scenarios, func(a, b SelftestRow) int {
		return cmp.Or(cmp.Compare(b.share(b.Violated+b.Missed), a.share(a.Violated+a.Missed)),
			cmp.Compare(b.share(b.Unknown+b.NotJudged), a.share(a.Unknown+a.NotJudged)), cmp.Compare(a.Scenario, b.Scenario))
	})
	slices.SortStableFunc(t.Explain, func(a, b SelftestCase) int {
		return cmp.Or(cmp.Compare(rank(a.Result), rank(b.Result)), cmp.Compare(a.Scenario, b.Scenario))
	})
}

// tries are how many runs of mutants were judged, and how many were caught.
type tries struct{ caught, of int }

func (t *tries) add(caught, missed int) { t.caught, t.of = t.caught+caught, t.of+caught+missed }

func (t tries) rate() Rate { return rateOf(t.caught, t.of) }

func (r SelftestRow) share(n int) float64 { return float64(n) / float64(r.Runs) }

// rank of a result: what is worst comes first.
func rank(r Result) int { return slices.Index([]Result{Missed, Violated, Unknown, "", Unsupported}, r) }

// Result of a selftest is the worst that was found: Violated for a miss or a false alarm, Interrupted where a round was, Unknown
// where a verdict or a round is missing.
func (t *Selftest) Result() Result {
	instrument := Held
	if t.Instrument != nil {
		instrument = t.Instrument.Result()
	}
	mutants := t.Summary.Detection.Of + t.Summary.DetectionApart.Of + t.Summary.ByChance.Of
	nothing := mutants+t.Summary.FalseAlarm.Of == 0
	switch s := t.Summary; {
	case s.Detection.Seen < s.Detection.Of || s.DetectionApart.Seen < s.DetectionApart.Of || s.FalseAlarm.Seen > 0:
		return Violated
	case instrument != Held:
		return instrument
	case t.Asked > 0 && t.Interrupted+t.NotBegun > 0:
		return Interrupted
	case s.Unknown.Seen+s.NotJudged > 0 || t.Whole < t.Asked || nothing && !t.instrumentAlone():
		return Unknown
	}
	return Held
}

// instrumentAlone tells whether nothing else was asked for.
func (t *Selftest) instrumentAlone() bool {
	return t.Instrument != nil && t.Asked == 0 && len(t.Runs) == 0
}

// AddStored adds what lies in a folder: of a run, of a selftest with its rounds, or of whatever a killed run has left. With
// judge, every record is judged anew, by the promises it holds; without it, run.json's word is taken.
func (t *Selftest) AddStored(folder string, judge bool) error {
	rounds, err := fs.Glob(os.DirFS(folder), path.Join(roundPattern, history.RunFileName))
	if err != nil {
		return fmt.Errorf("add %s: %w", folder, err)
	}
	if len(rounds) == 0 {
		return t.addRun(folder, judge)
	}
	var errs []error
	for _, name := range rounds {
		errs = append(errs, t.addRun(filepath.Join(folder, path.Dir(name)), judge))
	}
	return errors.Join(errs...)
}

func (t *Selftest) addRun(folder string, judge bool) error {
	f, err := history.ReadRunFile(folder)
	if err != nil {
		return fmt.Errorf("add %s: %w", folder, err)
	}
	unlisted, err := t.unlisted(folder, f)
	if err != nil {
		return err
	}
	if judge {
		for i := range f.Scenarios {
			if s := &f.Scenarios[i]; !s.Left() {
				judgeAnew(folder, s)
			}
		}
		for _, dir := range unlisted {
			s := history.ScenarioResult{Name: dir, Dir: dir}
			judgeAnew(folder, &s)
			f.Scenarios = append(f.Scenarios, s)
		}
	} else if len(unlisted) > 0 {
		t.Remarks = append(t.Remarks, fmt.Sprintf("%s: %s never judged, because the run was killed: add it with --judge",
			folder, plural(uint64(len(unlisted)), "record")+" "+map[bool]string{true: "was", false: "were"}[len(unlisted) == 1]))
	}
	return t.Add(folder, f)
}

// unlisted are the records that run.json does not know of.
func (t *Selftest) unlisted(folder string, f history.RunFile) (dirs []string, err error) {
	records, err := history.Records(folder)
	if err != nil {
		return nil, fmt.Errorf("add %s: %w", folder, err)
	}
	for _, dir := range records {
		if !slices.ContainsFunc(f.Scenarios, func(s history.ScenarioResult) bool { return s.Dir == dir }) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
