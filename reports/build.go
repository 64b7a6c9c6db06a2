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
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Build reads a run's folder, such as artifacts/latest. What is damaged or missing is reported as such: a scenario
// without a whole record, or that was not judged, is Unknown. It is an error only when there is nothing to report.
func Build(runDir string) (Model, error) {
	file, fileErr := history.ReadRunFile(runDir)
	records, err := history.Records(runDir)
	if fileErr != nil && len(records) == 0 {
		return Model{}, fmt.Errorf("report on %s: %w", runDir, fileErr)
	}
	m := modelOf(file)
	for _, e := range []error{fileErr, err} {
		if e != nil {
			m.Trouble = append(m.Trouble, e.Error())
		}
	}
	if _, err := os.Stat(filepath.Join(runDir, history.RunFileName)); err == nil {
		m.Damaged = fileErr
	}
	if fileErr == nil && (file.ID == "" || file.Seed == 0) { // no run is without
		m.Trouble = append(m.Trouble, history.RunFileName+" is damaged: it lacks the run's name or seed")
	}
	if fileErr == nil && file.Ended.IsZero() {
		m.Trouble = append(m.Trouble, "the run did not come to its end: it was killed, or is still going on")
	}
	for i := range file.Scenarios {
		m.Scenarios = append(m.Scenarios, scenarioOf(runDir, &file.Scenarios[i]))
	}
	for _, dir := range records {
		if !slices.ContainsFunc(file.Scenarios, func(r history.ScenarioResult) bool { return r.Dir == dir }) {
			m.Scenarios = append(m.Scenarios, unlisted(runDir, dir))
		}
	}
	m.fillIn(runDir, file)
	m.noteTwins()
	return m, nil
}

func modelOf(file history.RunFile) Model {
	m := Model{
		Interrupted: file.Interrupted,
		RunID:       file.ID, Started: file.Started, Holdfast: file.Holdfast, Seed: file.Seed, Profile: file.Profile,
		Reproduce: file.Reproduce, Incident: file.Incident,
	}
	if !file.Ended.IsZero() {
		m.Took = file.Ended.Sub(file.Started)
	}
	return m
}

// fillIn takes from the scenarios what run.json does not say.
func (m *Model) fillIn(runDir string, file history.RunFile) {
	m.RunID = cmp.Or(m.RunID, filepath.Base(runDir))
	var profiles []string
	for i := range m.Scenarios {
		s := &m.Scenarios[i]
		m.Seed = cmp.Or(m.Seed, s.Seed)
		if p := s.Cluster.Profile; p != "" && !slices.Contains(profiles, p) {
			profiles = append(profiles, p)
		}
	}
	m.Profile = cmp.Or(m.Profile, strings.Join(profiles, " and "))
	for i := range m.Scenarios {
		if c := m.Scenarios[i].Cluster; c.Kubernetes != "" {
			m.Cluster = c
			break
		}
	}
	if file.Kubernetes != "" {
		m.Cluster.Kubernetes = file.Kubernetes
	}
}

// scenarioOf reports on a scenario that run.json lists: its verdicts are there, the rest is in its record.
func scenarioOf(runDir string, listed *history.ScenarioResult) Scenario {
	left := listed.NotBegun != "" || listed.Interrupted != ""
	if listed.NotSupported != "" || left && hasRecord(runDir, listed.Dir) { // the record has to say so, too
		stored.Again(runDir, listed)
		listed.NotBegun = ""
	}
	verdicts, err := verdictsOf(listed)
	s := recorded(runDir, listed.Dir, verdicts)
	if s.Name != "" && s.Name != listed.Name {
		s.Incomplete = "in its folder lies the record of " + s.Name
	}
	s.Name, s.Reproduce = listed.Name, listed.Reproduce
	s.Claim = cmp.Or(listed.Claim, s.Claim)
	s.Took = cmp.Or(listed.Took, s.Took)
	if listed.Mutant != nil {
		s.Mutant = listed.Mutant
	}
	if err != nil {
		s.Incomplete = err.Error()
	}
	s.Result, s.Why = sumUp(verdicts, s.Mutant, s.Caught, s.Incomplete)
	s.heed(listed)
	return s
}

// unlisted reports on a record that run.json does not know of: the harness was killed before it was judged.
func unlisted(runDir, dir string) Scenario {
	s := recorded(runDir, dir, nil)
	s.Name = cmp.Or(s.Name, dir)
	s.Result, s.Why = Unknown, "it was not judged: the run was cut off; judge it now with holdfast judge"
	return s
}

// recorded describes a scenario from its record, as far as there is one.
func recorded(runDir, dir string, verdicts []verdict.Verdict) Scenario {
	local := filepath.FromSlash(dir)
	if !filepath.IsLocal(local) {
		return Scenario{Verdicts: verdicts, Incomplete: fmt.Sprintf("its folder %q is not below the run's", dir)}
	}
	run, err := history.Open(filepath.Join(runDir, local))
	if err != nil {
		return Scenario{Verdicts: verdicts, Incomplete: err.Error()}
	}
	return Describe(run, verdicts)
}

// hasRecord tells whether something was recorded of a scenario, be it readable or not.
func hasRecord(runDir, dir string) bool {
	local := filepath.FromSlash(dir)
	if !filepath.IsLocal(local) {
		return false
	}
	_, err := os.Stat(filepath.Join(runDir, local, history.EventsFile))
	return err == nil
}

func verdictsOf(listed *history.ScenarioResult) ([]verdict.Verdict, error) {
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

// heed lets the harness's own word stand where it is worse than what its verdicts come to: it knows of things that are
// in no verdict.
func (s *Scenario) heed(listed *history.ScenarioResult) {
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
		s.Verdicts = nil // what they lack says nothing: the scenario was not tried to its end
		return
	}
	s.NotJudged = listed.Error != ""
	if s.NotJudged && !s.Result.Broken() {
		s.Result, s.Why = Unknown, "the harness could not run or judge it: "+listed.Error
	}
	if said := verdict.Outcome(listed.Outcome); said != "" {
		result := resultOf(said)
		if s.Mutant != nil {
			result = resultOfMutant(verdict.Verdict{Outcome: said})
		}
		if s.Result.Good() && !result.Good() {
			s.Result, s.Why = result, fmt.Sprintf("the run itself said %s (%s)", said, s.Why)
		}
	}
}

// noteTwins says of each mutant what a reader must know of its twin.
func (m *Model) noteTwins() {
	for i := range m.Scenarios {
		s := &m.Scenarios[i]
		if s.Mutant == nil {
			continue
		}
		at := slices.IndexFunc(m.Scenarios, func(other Scenario) bool { return other.Name == s.Mutant.Twin })
		if at < 0 {
			s.TwinNote = s.Mutant.TwinNote("", false)
			continue
		}
		s.TwinNote = s.Mutant.TwinNote(strings.ToLower(string(m.Scenarios[at].Result)), true)
	}
}
