package reports

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WriteCatalogue writes what a run found of every claim that was tried, good and broken forms side by side: the page that
// lies beside the scenarios' sources. It links them, so it belongs into the folder suites.
func WriteCatalogue(w io.Writer, m Model) error { return findingsOf(m).write(w, m) }

// ReplaceCatalogue writes the catalogue of runs' folders into a file, whole or not at all. Claims are what the suites claim
// now: what a run found of another claim is left out, and those that no run judged are listed as not tried. What the file says
// already of claims that these runs did not judge stays: the records of runs do not live as long as the suites.
func ReplaceCatalogue(file string, claims []Claim, runDirs ...string) error {
	models := make([]Model, len(runDirs))
	for i, dir := range runDirs {
		var err error
		if models[i], err = Build(dir); err != nil {
			return err
		}
	}
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m := merged(models)
	m.restrict(claims)
	whole := findingsOf(m)
	whole.keep(readFindings(string(before)), claims)
	write := func(w io.Writer, m Model) error {
		err := whole.write(w, m)
		if untried := whole.untried(claims); err == nil && len(untried) > 0 {
			_, err = fmt.Fprintf(w, "\n## Not tried yet\n\n%s\n", text(strings.Join(untried, ", ")))
		}
		return err
	}
	if err := Replace(file, m, write); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(file), err)
	}
	return nil
}

// merged is what several runs found: of a scenario that was run in more than one, what the last of them found that judged it.
func merged(models []Model) Model {
	m := models[0]
	var ids []string
	m.Scenarios, m.Trouble = nil, nil
	for _, one := range models {
		ids, m.Trouble = append(ids, one.RunID), append(m.Trouble, one.Trouble...)
		for i := range one.Scenarios {
			s := one.Scenarios[i]
			switch at := slices.IndexFunc(m.Scenarios, func(before Scenario) bool { return before.Name == s.Name }); {
			case at < 0:
				m.Scenarios = append(m.Scenarios, s)
			case len(s.Verdicts) > 0:
				m.Scenarios[at] = s
			}
		}
	}
	m.RunID = strings.Join(ids, ", ")
	slices.SortFunc(m.Scenarios, func(a, b Scenario) int { return cmp.Compare(a.Name, b.Name) })
	return m
}

// Claim is what a scenario claims.
type Claim struct {
	Scenario, Claim string
}

// restrict leaves the scenarios with these claims that were judged, or found to be not supported.
func (m *Model) restrict(claims []Claim) {
	m.Scenarios = slices.DeleteFunc(m.Scenarios, func(s Scenario) bool {
		return len(s.Verdicts) == 0 && s.Result != Unsupported || !slices.Contains(claims, Claim{s.Name, s.Claim})
	})
}

// sourceOf a scenario: one file each, named after it. The run with stock timings is the same scenario.
func sourceOf(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "-stock"), "-", "_") + ".go"
}
