package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/historytest/adversary"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// attackedRun is a whole run that is to be attacked: three scenarios that held, and a mutant that was caught.
type attackedRun struct {
	t      *testing.T
	dir    string
	file   runfolder.File
	broken runfolder.File // the results of the same scenarios with broken promises, whose records are in brokenDir
	brokenDir,
	otherDir string // with records of another run
	unwritten bool // run.json is not written again: the file itself was damaged
}

// one is a scenario that the run still lists; nil: it lists none.
func (r *attackedRun) one(random *rand.Rand) *runfolder.ScenarioResult {
	if len(r.file.Scenarios) == 0 {
		return nil
	}
	return &r.file.Scenarios[random.IntN(len(r.file.Scenarios))]
}

// at is where the record of a scenario is in a run's folder.
func at(dir, scenario string) string { return filepath.Join(dir, filepath.FromSlash(scenario)) }

// put replaces the record of a scenario by one of another folder.
func (r *attackedRun) put(from, scenario string) {
	r.t.Helper()
	r.must(os.RemoveAll(at(r.dir, scenario)))
	r.must(os.CopyFS(at(r.dir, scenario), os.DirFS(from)))
}

func (r *attackedRun) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// damage changes a file: it is cut off, or a bit of it flips.
func (r *attackedRun) damage(random *rand.Rand, name string) bool {
	text, err := os.ReadFile(name)
	if err != nil || len(text) < 3 {
		return false
	}
	if where := random.IntN(len(text) - 2); random.IntN(2) == 0 {
		text = text[:where]
	} else {
		text[where] ^= 1 << random.IntN(8)
	}
	r.must(os.WriteFile(name, text, 0o600))
	return true
}

// by is which commands rest on what was edited. A report has the verdicts of run.json, and judge those of the records.
type by int

const (
	both by = iota
	onlyJudge
	onlyReport
)

// runEdit is something that is taken from a run, or damage that is planted in it.
type runEdit struct {
	name     string
	do       func(random *rand.Rand, r *attackedRun) bool // false: there is no place for it
	told     by
	violated bool // a promise was broken: the exit code is 1, whatever else is edited
}

// runRemovals take something away that a whole run needs.
var runRemovals = []runEdit{
	{"killed in the middle", func(random *rand.Rand, r *attackedRun) bool {
		r.file.Ended = time.Time{}
		n := random.IntN(len(r.file.Scenarios) + 1)
		for _, s := range r.file.Scenarios[n:] {
			if random.IntN(2) == 0 {
				r.must(os.RemoveAll(at(r.dir, s.Name)))
			}
		}
		r.file.Scenarios = r.file.Scenarios[:n]
		return true
	}, both, false},
	{"killed at the end", func(_ *rand.Rand, r *attackedRun) bool { r.file.Ended = time.Time{}; return true }, both, false},
	{"a result taken out", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		if s == nil {
			return false
		}
		if random.IntN(2) == 0 {
			r.must(os.RemoveAll(at(r.dir, s.Name)))
		}
		name := s.Name
		r.file.Scenarios = slices.DeleteFunc(r.file.Scenarios, func(s runfolder.ScenarioResult) bool { return s.Name == name })
		return true
	}, both, false},
	{"a record taken out", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		if s == nil {
			return false
		}
		r.must(os.RemoveAll(at(r.dir, s.Name)))
		return true
	}, both, false},
	{"a damaged record", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		return s != nil && r.damage(random, filepath.Join(at(r.dir, s.Name), history.EventsFile))
	}, both, false},
	{"two records swapped", func(random *rand.Rand, r *attackedRun) bool {
		a, b := r.one(random), r.one(random)
		if a == nil || a.Name == b.Name || !runfolder.Exists(at(r.dir, a.Name)) || !runfolder.Exists(at(r.dir, b.Name)) {
			return false
		}
		aside := filepath.Join(r.t.TempDir(), "aside")
		r.must(os.Rename(at(r.dir, a.Name), aside))
		r.must(os.Rename(at(r.dir, b.Name), at(r.dir, a.Name)))
		r.must(os.Rename(aside, at(r.dir, b.Name)))
		return true
	}, both, false},
	{"the record of another run", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		if s == nil {
			return false
		}
		r.put(at(r.otherDir, s.Name), s.Name)
		return true
	}, both, false},
	{"no run.json", func(_ *rand.Rand, r *attackedRun) bool {
		r.unwritten = true
		r.must(os.RemoveAll(filepath.Join(r.dir, runfolder.FileName)))
		return true
	}, both, false},
	{"a damaged run.json", func(random *rand.Rand, r *attackedRun) bool {
		r.unwritten = true
		return r.damage(random, filepath.Join(r.dir, runfolder.FileName))
	}, both, false},
	{"no name or seed", func(random *rand.Rand, r *attackedRun) bool {
		if random.IntN(2) == 0 {
			r.file.ID = ""
		} else {
			r.file.Seed = 0
		}
		return true
	}, both, false},
	{"a failure of the environment", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		if s == nil {
			return false
		}
		s.Error = "provision a cluster: no engine"
		if random.IntN(2) == 0 {
			s.Outcome, s.Verdicts = "", nil
			r.must(os.RemoveAll(at(r.dir, s.Name)))
		}
		return true
	}, both, false},
	{"an interrupted scenario", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		if s == nil {
			return false
		}
		s.Interrupted, s.Outcome = "interrupted while the cluster was disturbed", ""
		if random.IntN(2) == 0 {
			s.Verdicts = nil
		}
		return true
	}, both, false},
	{"a scenario that was not begun", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		if s == nil {
			return false
		}
		s.NotBegun, s.Outcome, s.Verdicts = "the run was interrupted", "", nil
		if random.IntN(2) == 0 {
			r.must(os.RemoveAll(at(r.dir, s.Name)))
		}
		return true
	}, both, false},
	{"no verdicts", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		if s == nil {
			return false
		}
		s.Verdicts, s.Caught, s.Outcome = nil, nil, pick(random, "", "held", "perhaps")
		return true
	}, onlyReport, false},
}

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// broken takes the place of a scenario that held: its record, and what run.json has of it.
func (r *attackedRun) breaks(random *rand.Rand) *runfolder.ScenarioResult {
	s := r.one(random)
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(r.broken.Scenarios, func(b runfolder.ScenarioResult) bool { return b.Name == s.Name })
	r.put(at(r.brokenDir, s.Name), s.Name)
	*s = r.broken.Scenarios[i]
	return s
}

// runDamage breaks a promise, and in most cases has run.json say something else of it.
var runDamage = []runEdit{
	{"a broken promise", func(random *rand.Rand, r *attackedRun) bool { return r.breaks(random) != nil }, both, true},
	{"a broken promise that is said to be held", func(random *rand.Rand, r *attackedRun) bool {
		s := r.breaks(random)
		if s != nil {
			s.Outcome = string(verdict.Held)
		}
		return s != nil
	}, both, true},
	{"a broken promise that is said not to be supported", func(random *rand.Rand, r *attackedRun) bool {
		s := r.breaks(random)
		if s != nil {
			s.NotSupported, s.Outcome, s.Verdicts, s.Caught = "no netem", "", nil, nil
		}
		return s != nil
	}, both, false},
	{"a broken promise that is said not to be begun", func(random *rand.Rand, r *attackedRun) bool {
		s := r.breaks(random)
		if s != nil {
			s.NotBegun, s.Outcome, s.Verdicts, s.Caught = "the run was interrupted", "", nil, nil
		}
		return s != nil
	}, both, false},
	{"a broken promise of what is said to be a mutant", func(random *rand.Rand, r *attackedRun) bool {
		s := r.breaks(random)
		if s != nil {
			s.Mutant, s.Outcome = &history.Mutant{Removed: "a budget", CaughtBy: "BudgetHonoured"}, string(verdict.Held)
		}
		return s != nil
	}, both, false},
	{"a broken promise, and the verdicts of a record that held", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		if s == nil {
			return false
		}
		said := *s
		broken := r.breaks(random)
		if broken.Name != said.Name {
			return false
		}
		*broken = said
		return true
	}, onlyJudge, false},
	{"a verdict that is violated, of an outcome that is held", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		if s == nil {
			return false
		}
		i := slices.IndexFunc(r.broken.Scenarios, func(b runfolder.ScenarioResult) bool { return b.Name == s.Name })
		s.Verdicts, s.Caught = r.broken.Scenarios[i].Verdicts, r.broken.Scenarios[i].Caught
		return true
	}, onlyReport, false},
	{"an outcome that is violated, of a verdict that is held", func(random *rand.Rand, r *attackedRun) bool {
		s := r.one(random)
		if s != nil {
			s.Outcome = string(verdict.Violated)
		}
		return s != nil
	}, onlyReport, false},
}

// TestAttacksOnRuns removes from a whole run what it needs, and plants damage in it, at random and up to three at once. Neither judge nor report ends
// with 0 then.
func TestAttacksOnRuns(t *testing.T) {
	missed := func() *historytest.Builder { return mutant(still(t, "mutants/m")) }
	names := []string{"chaos/a", "chaos/b", "chaos/c"}
	dir, file := storeRun(t, still(t, names[0]), still(t, names[1]), still(t, names[2]), mutant(broken(t, "mutants/m")))
	for _, s := range file.Scenarios {
		file.Chosen = append(file.Chosen, runfolder.Chosen{Name: s.Name})
	}
	brokenDir, brokenFile := storeRun(t, broken(t, names[0]), broken(t, names[1]), broken(t, names[2]), missed())
	other := filepath.Join(t.TempDir(), "r0")
	for _, b := range []*historytest.Builder{still(t, names[0]), still(t, names[1]), still(t, names[2]), mutant(broken(t, "mutants/m"))} {
		store(t, other, b.Header(func(h *history.Header) { h.RunID = "r0" }))
	}
	codes := func(dir string) (judged, reported int) {
		_, judged, _ = execute(t, "judge", dir)
		_, reported, _ = execute(t, "report", dir)
		return judged, reported
	}
	if err := file.Write(dir); err != nil {
		t.Fatal(err)
	}
	if judged, reported := codes(dir); judged != exit.Held || reported != exit.Held {
		t.Fatalf("before anything is edited: judge %d, report %d", judged, reported)
	}
	for name, edits := range map[string][]runEdit{"removed": runRemovals, "damaged": runDamage} {
		t.Run(name, func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "r1")
			adversary.Attack(t, adversary.Times(1_000, 40), func(random *rand.Rand, number int) (did, wrong string) {
				r := &attackedRun{t: t, dir: copied, file: file, broken: brokenFile, brokenDir: brokenDir, otherDir: other}
				r.file.Scenarios = slices.Clone(file.Scenarios)
				r.must(os.RemoveAll(copied))
				r.must(os.CopyFS(copied, os.DirFS(dir)))
				first := edits[number%len(edits)]
				if !first.do(random, r) {
					return "", ""
				}
				did = first.name
				told := []by{first.told}
				for range random.IntN(3) { // and something that is taken away besides
					if more := runRemovals[random.IntN(len(runRemovals))]; !first.violated && !r.unwritten && !strings.Contains(did, more.name) && more.do(random, r) { // twice may be none: a swap
						did += ", and " + more.name
						told = append(told, more.told)
					}
				}
				if !r.unwritten {
					r.must(r.file.Write(copied))
				}
				judged, reported := codes(copied)
				switch {
				case judged == exit.Held && slices.ContainsFunc(told, func(b by) bool { return b != onlyReport }):
					wrong = "judge ends with 0"
				case reported == exit.Held && slices.ContainsFunc(told, func(b by) bool { return b != onlyJudge }):
					wrong = "report ends with 0"
				case first.violated && (judged != exit.Violated || reported != exit.Violated):
					wrong = fmt.Sprintf("judge ends with %d and report with %d, and a promise was broken", judged, reported)
				}
				return did, wrong
			})
		})
	}
}
