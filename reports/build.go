package reports

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// building is a report in the making, of a run's folder.
type building struct {
	dir, id string
	read    map[string]history.Header // of the records that were opened, by folder
	// problems are why records cannot be read.
	problems []error
}

func newBuilding(dir, id string) *building {
	return &building{dir: dir, id: id, read: make(map[string]history.Header)}
}

// Build reads the folder of a run, such as artifacts/latest. What is damaged or missing is reported as such: a scenario that was not
// judged, or whose record is incomplete, is Unknown. Build returns an error only if there is nothing to report.
func Build(runDir string) (Report, error) {
	file, fileErr := runfolder.ReadFile(runDir)
	records, err := runfolder.Records(runDir)
	if fileErr != nil && len(records) == 0 {
		return Report{}, fmt.Errorf("report on %s: %w", runDir, fileErr)
	}
	r, b := reportOf(file), newBuilding(runDir, file.ID)
	for _, e := range []error{fileErr, err} {
		if e != nil {
			r.Trouble = append(r.Trouble, e.Error())
		}
	}
	if fileErr == nil {
		r.Trouble = append(r.Trouble, judge.Lacks(file)...)
	}
	for i := range file.Scenarios {
		r.Scenarios = append(r.Scenarios, b.scenarioOf(&file.Scenarios[i]))
	}
	for _, dir := range records {
		if !slices.ContainsFunc(file.Scenarios, func(r runfolder.ScenarioResult) bool { return r.Dir == dir }) {
			r.Scenarios = append(r.Scenarios, b.unlisted(dir))
		}
	}
	if fileErr != nil && runfolder.Exists(filepath.Join(runDir, runfolder.FileName)) {
		b.problems = append(b.problems, fileErr)
	}
	r.Damaged = errors.Join(append(b.problems, stored.Misplaced(runDir, file, b.read)...)...)
	r.fillIn(runDir, file)
	r.noteTwins()
	r.proveRemedies()
	return r.Completed(), nil
}

func reportOf(file runfolder.File) Report {
	r := Report{
		Interrupted: file.Interrupted,
		RunID:       file.ID, Started: file.Started, Holdfast: file.Holdfast, Seed: file.Seed, Profile: file.Profile,
		Machine: file.Machine, Reproduce: oneLine(file.Reproduce), Incident: file.Incident,
	}
	for _, again := range file.Resumed {
		r.Resumed = append(r.Resumed, Resumption{At: again.At, Holdfast: again.Holdfast, Left: len(again.Again)})
	}
	if !file.Ended.IsZero() {
		r.Took = Seconds(file.Ended.Sub(file.Started))
	}
	return r
}

// fillIn takes from the scenarios what run.json lacks.
func (r *Report) fillIn(runDir string, file runfolder.File) {
	r.RunID = cmp.Or(r.RunID, filepath.Base(runDir))
	var profiles []string
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		r.Seed = cmp.Or(r.Seed, s.Seed)
		if p := s.Cluster.Profile; p != "" && !slices.Contains(profiles, p) {
			profiles = append(profiles, p)
		}
		if r.Cluster.Kubernetes == "" && s.Cluster.Kubernetes != "" {
			r.Cluster = s.Cluster
		}
	}
	r.Profile = cmp.Or(r.Profile, strings.Join(profiles, " and "))
	if file.Kubernetes != "" {
		r.Cluster.Kubernetes = file.Kubernetes
	}
}

// scenarioOf reports on a scenario that run.json lists. Its verdicts are in run.json, everything else is in its record.
func (b *building) scenarioOf(listed *runfolder.ScenarioResult) Scenario {
	left, wrong := listed.NotBegun != "" || listed.Interrupted != "", ""
	if listed.NotSupported != "" || left && b.hasRecord(listed.Dir) { // the record must confirm it
		stored.Again(b.dir, listed)
		if listed.NotBegun != "" {
			wrong, listed.NotBegun = runfolder.FileName+" says that it was not begun", ""
		}
	}
	found, err := judge.Listed(listed)
	s := b.recorded(listed.Dir, found.Verdicts)
	header := b.read[filepath.Join(b.dir, filepath.FromSlash(listed.Dir))]
	if s.Name != "" && (s.Name != listed.Name || header.RunID != b.id) {
		wrong = "its folder has the record of " + s.Name + " of run " + header.RunID
	}
	s.Incomplete = cmp.Or(wrong, s.Incomplete)
	s.Name, s.Reproduce = listed.Name, oneLine(listed.Reproduce)
	s.Claim = cmp.Or(listed.Claim, s.Claim)
	s.Took = cmp.Or(Seconds(listed.Took), s.Took)
	if listed.Mutant != nil {
		mutant := &Mutant{Mutant: *listed.Mutant}
		if s.Mutant != nil {
			mutant.Verdict = s.Mutant.Verdict
		}
		s.Mutant = mutant
	}
	if err != nil {
		s.Incomplete = err.Error()
	}
	s.Result, s.Why = s.sumUp()
	s.takeResultOf(listed)
	return s
}

// unlisted reports on a record that run.json does not list, because the harness was killed before it judged the scenario.
func (b *building) unlisted(dir string) Scenario {
	s := b.recorded(dir, nil)
	s.Name = cmp.Or(s.Name, dir)
	s.Result, s.Why = Unknown, "it was not judged, because the run was killed; judge it with holdfast judge"
	return s
}

// recorded describes a scenario from its record, as far as the record goes.
func (b *building) recorded(dir string, verdicts []verdict.Verdict) Scenario {
	local := filepath.FromSlash(dir)
	if !filepath.IsLocal(local) {
		return withoutRecord(verdicts, fmt.Sprintf("its folder %q is not below the run's", dir))
	}
	at := filepath.Join(b.dir, local)
	run, err := history.Open(at)
	if err == nil || b.hasRecord(dir) {
		b.read[at] = run.Header
	}
	if err != nil {
		if b.hasRecord(dir) { // which no report describes, and judge cannot judge
			b.problems = append(b.problems, err)
		}
		return withoutRecord(verdicts, err.Error())
	}
	return Describe(run, verdicts)
}

func withoutRecord(verdicts []verdict.Verdict, why string) Scenario {
	s := Scenario{Incomplete: why}
	s.conclude(verdicts)
	return s
}

// hasRecord is whether a scenario has a record, readable or not.
func (b *building) hasRecord(dir string) bool {
	local := filepath.FromSlash(dir)
	if !filepath.IsLocal(local) {
		return false
	}
	_, err := os.Stat(filepath.Join(b.dir, local, history.EventsFile))
	return err == nil
}

// takeResultOf takes the result that run.json lists if it is worse than the sum of the verdicts. The harness can know of errors that
// are in no verdict.
func (s *Scenario) takeResultOf(listed *runfolder.ScenarioResult) {
	if listed.NotSupported != "" && listed.Error == "" && listed.Outcome == "" && len(listed.Verdicts) == 0 {
		s.Result, s.Why = Unsupported, listed.NotSupported
		return
	}
	if listed.NotBegun != "" && len(s.Verdicts) == 0 {
		s.Result, s.Why, s.Incomplete = NotBegun, listed.NotBegun, ""
		return
	}
	if listed.Interrupted != "" && listed.Error == "" && (s.Mutant != nil || !s.Result.Broken()) {
		s.Result, s.Why = Interrupted, listed.Interrupted
		if len(s.Verdicts) == 0 { // there was no record yet
			s.Incomplete = ""
		}
		s.Verdicts = nil // the scenario did not complete, so missing evidence means nothing
		return
	}
	s.NotJudged = listed.Error != ""
	if s.NotJudged && !s.Result.Broken() {
		s.Result, s.Why = Unknown, "the harness could not run or judge the scenario: "+listed.Error
	}
	if said := verdict.Outcome(listed.Outcome); said != "" {
		result := ResultOfOutcome(said)
		if s.Mutant != nil {
			result = resultOfMutant(verdict.Verdict{Outcome: said})
		}
		if s.Result.Good() && !result.Good() {
			s.Result, s.Why = result, fmt.Sprintf("run.json says %s (%s)", said, s.Why)
		}
	}
}

// noteTwins adds to each mutant what a reader must know about its twin.
func (r *Report) noteTwins() {
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.Mutant == nil {
			continue
		}
		at := slices.IndexFunc(r.Scenarios, func(other Scenario) bool { return other.Name == s.Mutant.Twin })
		if at < 0 {
			s.Mutant.TwinNote = runfolder.TwinNote(s.Mutant.Mutant, "", false)
			continue
		}
		s.Mutant.TwinNote = runfolder.TwinNote(s.Mutant.Mutant, strings.ToLower(string(r.Scenarios[at].Result)), true)
	}
}

// oneLine is a command without characters that a shell or a terminal would obey where it is pasted: a record may come from another person.
func oneLine(command string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, command)
}

// proveRemedies says of the remedies of scenarios that were run again with their fixes what came of it.
func (r *Report) proveRemedies() {
	named := make(map[string]*Scenario)
	for i := range r.Scenarios {
		named[r.Scenarios[i].Name] = &r.Scenarios[i]
	}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if again := named[s.Name+judge.FixedSuffix]; again != nil {
			s.Remedies = s.tried().Prove(again.tried())
		}
	}
}

// tried is what came of a scenario, to be compared with another run of it.
func (s *Scenario) tried() judge.Tried {
	t := judge.Tried{Outcome: map[Result]verdict.Outcome{Held: verdict.Held, Violated: verdict.Violated, Unknown: verdict.Unknown}[s.Result], Remedies: s.Remedies}
	for i := range s.Verdicts {
		t.Verdicts = append(t.Verdicts, s.Verdicts[i].Recorded())
	}
	return t
}
