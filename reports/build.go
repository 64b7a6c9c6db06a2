package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Build reads the folder of a run, such as artifacts/latest. What is damaged or missing is reported as such: a scenario that was not
// judged, or whose record is incomplete, is Unknown. Build returns an error only if there is nothing to report.
func Build(runDir string) (Report, error) {
	file, fileErr := runfolder.ReadFile(runDir)
	records, err := runfolder.Records(runDir)
	if fileErr != nil && len(records) == 0 {
		return Report{}, fmt.Errorf("report on %s: %w", runDir, fileErr)
	}
	r := reportOf(file)
	for _, e := range []error{fileErr, err} {
		if e != nil {
			r.Trouble = append(r.Trouble, e.Error())
		}
	}
	if _, err := os.Stat(filepath.Join(runDir, runfolder.FileName)); err == nil {
		r.Damaged = fileErr
	}
	if fileErr == nil && (file.ID == "" || file.Seed == 0) { // every run has both
		r.Trouble = append(r.Trouble, runfolder.FileName+" is damaged: it lacks the run's name or seed")
	}
	if fileErr == nil && file.Ended.IsZero() {
		r.Trouble = append(r.Trouble, "the run did not end: it was killed, or is still running")
	}
	for i := range file.Scenarios {
		r.Scenarios = append(r.Scenarios, scenarioOf(runDir, &file.Scenarios[i]))
	}
	for _, dir := range records {
		if !slices.ContainsFunc(file.Scenarios, func(r runfolder.ScenarioResult) bool { return r.Dir == dir }) {
			r.Scenarios = append(r.Scenarios, unlisted(runDir, dir))
		}
	}
	r.fillIn(runDir, file)
	r.noteTwins()
	r.proveRemedies()
	return r.Completed(), nil
}

func reportOf(file runfolder.File) Report {
	r := Report{
		Interrupted: file.Interrupted,
		RunID:       file.ID, Started: file.Started, Holdfast: file.Holdfast, Seed: file.Seed, Profile: file.Profile,
		Machine: file.Machine, Reproduce: file.Reproduce, Incident: file.Incident,
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
	}
	r.Profile = cmp.Or(r.Profile, strings.Join(profiles, " and "))
	for i := range r.Scenarios {
		if c := r.Scenarios[i].Cluster; c.Kubernetes != "" {
			r.Cluster = c
			break
		}
	}
	if file.Kubernetes != "" {
		r.Cluster.Kubernetes = file.Kubernetes
	}
}

// scenarioOf reports on a scenario that run.json lists. Its verdicts are in run.json, everything else is in its record.
func scenarioOf(runDir string, listed *runfolder.ScenarioResult) Scenario {
	left := listed.NotBegun != "" || listed.Interrupted != ""
	if listed.NotSupported != "" || left && hasRecord(runDir, listed.Dir) { // the record must confirm it
		stored.Again(runDir, listed)
		listed.NotBegun = ""
	}
	verdicts, err := verdictsOf(listed)
	s := recorded(runDir, listed.Dir, verdicts)
	if s.Name != "" && s.Name != listed.Name {
		s.Incomplete = "its folder has the record of " + s.Name
	}
	s.Name, s.Reproduce = listed.Name, listed.Reproduce
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
func unlisted(runDir, dir string) Scenario {
	s := recorded(runDir, dir, nil)
	s.Name = cmp.Or(s.Name, dir)
	s.Result, s.Why = Unknown, "it was not judged, because the run was killed; judge it with holdfast judge"
	return s
}

// recorded describes a scenario from its record, as far as the record goes.
func recorded(runDir, dir string, verdicts []verdict.Verdict) Scenario {
	local := filepath.FromSlash(dir)
	if !filepath.IsLocal(local) {
		return withoutRecord(verdicts, fmt.Sprintf("its folder %q is not below the run's", dir))
	}
	run, err := history.Open(filepath.Join(runDir, local))
	if err != nil {
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
func hasRecord(runDir, dir string) bool {
	local := filepath.FromSlash(dir)
	if !filepath.IsLocal(local) {
		return false
	}
	_, err := os.Stat(filepath.Join(runDir, local, history.EventsFile))
	return err == nil
}

func verdictsOf(listed *runfolder.ScenarioResult) ([]verdict.Verdict, error) {
	var list []verdict.Verdict
	for i, raw := range listed.Verdicts {
		var v verdict.Verdict
		if err := json.Unmarshal(raw, &v); err != nil {
			return list, fmt.Errorf("read verdict %d of %s: %w", i+1, listed.Name, err)
		}
		list = append(list, v)
	}
	return list, nil
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
