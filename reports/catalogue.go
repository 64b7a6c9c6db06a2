package reports

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// WriteCatalogue writes what a run found of every claim that was tried, good and broken forms side by side: the page that
// lies beside the scenarios' sources. It links them, so it belongs into the folder suites.
func WriteCatalogue(w io.Writer, m Model) error {
	var b strings.Builder
	b.WriteString("# What was tried, and what was seen\n\n")
	b.WriteString("Written by `holdfast report RUN ... --catalogue suites/README.md` from the records of runs; not by hand.\n\n")
	fmt.Fprintf(&b, "Runs %s on Kubernetes %s, with holdfast %s. %s\n", code(m.RunID), text(m.Cluster.Kubernetes), text(m.Holdfast), m.summary())
	for _, what := range m.Trouble {
		fmt.Fprintf(&b, "\n> [!WARNING]\n> %s\n", text(what))
	}
	for _, suite := range m.suites() {
		fmt.Fprintf(&b, "\n## %s\n", suite)
		for i := range m.Scenarios {
			if s := &m.Scenarios[i]; s.Mutant == nil && suiteOf(s.Name) == suite {
				catalogueEntry(&b, m, s)
			}
		}
	}
	catalogueOrphans(&b, m)
	_, err := io.WriteString(w, b.String())
	return err
}

// ReplaceCatalogue writes the catalogue of runs' folders into a file, whole or not at all. Claims are what the suites claim
// now: what a run found of another claim is left out, and those that no run judged are listed as not tried.
func ReplaceCatalogue(file string, claims []Claim, runDirs ...string) error {
	models := make([]Model, len(runDirs))
	for i, dir := range runDirs {
		var err error
		if models[i], err = Build(dir); err != nil {
			return err
		}
	}
	m := merged(models)
	untried := m.restrict(claims)
	write := func(w io.Writer, m Model) error {
		if err := WriteCatalogue(w, m); err != nil || len(untried) == 0 {
			return err
		}
		_, err := fmt.Fprintf(w, "\n## Not tried yet\n\n%s\n", text(strings.Join(untried, ", ")))
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

// restrict leaves the scenarios with these claims that were judged, and returns the names of the others.
func (m *Model) restrict(claims []Claim) (untried []string) {
	m.Scenarios = slices.DeleteFunc(m.Scenarios, func(s Scenario) bool {
		return len(s.Verdicts) == 0 || !slices.Contains(claims, Claim{s.Name, s.Claim})
	})
	for _, c := range claims {
		if !slices.ContainsFunc(m.Scenarios, func(s Scenario) bool { return s.Name == c.Scenario }) {
			untried = append(untried, c.Scenario)
		}
	}
	return untried
}

// suites of the scenarios that are no mutants, in their order.
func (m Model) suites() (list []string) {
	seen := map[string]bool{}
	for i := range m.Scenarios {
		if suite := suiteOf(m.Scenarios[i].Name); m.Scenarios[i].Mutant == nil && !seen[suite] {
			seen[suite] = true
			list = append(list, suite)
		}
	}
	return list
}

func suiteOf(name string) string {
	suite, _, _ := strings.Cut(name, "/")
	return suite
}

// catalogueEntry writes a claim, what was seen of it, and of the same without one of its practices.
func catalogueEntry(b *strings.Builder, m Model, s *Scenario) {
	fmt.Fprintf(b, "\n### %s\n\n", text(s.Claim))
	catalogueLine(b, s, string(s.Result))
	for i := range m.Scenarios {
		if broken := &m.Scenarios[i]; broken.Mutant != nil && broken.Mutant.Twin == s.Name {
			catalogueLine(b, broken, fmt.Sprintf("Without %s: %s", broken.Mutant.Removed, strings.ToLower(string(broken.Result))))
		}
	}
}

// catalogueOrphans lists mutants whose twin was not run: nothing is left out.
func catalogueOrphans(b *strings.Builder, m Model) {
	named := map[string]bool{}
	for i := range m.Scenarios {
		named[m.Scenarios[i].Name] = true
	}
	head := "\n## mutants whose twin was not run\n\n"
	for i := range m.Scenarios {
		if s := &m.Scenarios[i]; s.Mutant != nil && !named[s.Mutant.Twin] {
			b.WriteString(head)
			head = ""
			catalogueLine(b, s, fmt.Sprintf("Without %s: %s", s.Mutant.Removed, strings.ToLower(string(s.Result))))
		}
	}
}

func catalogueLine(b *strings.Builder, s *Scenario, found string) {
	fmt.Fprintf(b, "- %s **%s** ([%s](%s)): %s", shape(s.Result), text(found), text(s.Name), sourceOf(s.Name), text(s.Why))
	for i := range s.Verdicts {
		if v := &s.Verdicts[i]; s.Mutant == nil && v.Seen != s.Why {
			fmt.Fprintf(b, "; %s", text(v.Seen))
		}
	}
	if s.Reproduce != "" {
		fmt.Fprintf(b, "<br>%s", code(s.Reproduce))
	}
	b.WriteString("\n")
}

// sourceOf a scenario: one file each, named after it. The run with stock timings is the same scenario.
func sourceOf(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "-stock"), "-", "_") + ".go"
}
