package reports

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// findings are the catalogue, by scenario.
type findings map[string]finding

// finding is the line that tells what was seen of a scenario.
type finding struct {
	// of is the scenario whose claim it stands below: its own, or for a mutant that of its twin.
	of string
	// heading is that claim, as it is written; empty below a twin that was not run.
	heading, line string
}

func findingsOf(m Model) findings {
	p := findings{}
	headings := map[string]string{}
	for i := range m.Scenarios {
		if s := &m.Scenarios[i]; s.Mutant == nil {
			headings[s.Name] = text(s.Claim)
		}
	}
	for i := range m.Scenarios {
		s := &m.Scenarios[i]
		of, found := s.Name, string(s.Result)
		if s.Mutant != nil {
			of, found = s.Mutant.Twin, fmt.Sprintf("Without %s: %s", s.Mutant.Removed, strings.ToLower(found))
		}
		p[s.Name] = finding{of: of, heading: headings[of], line: catalogueLine(s, found)}
	}
	return p
}

// scenarioOfLine finds the scenario of a line that catalogueLine wrote.
var scenarioOfLine = regexp.MustCompile(`^- .*?\*\* \(\[([^]]+)\]\(`)

// readFindings reads what write wrote. Lines whose twin was not run have no place of their own, and are left out.
func readFindings(written string) findings {
	p := findings{}
	var heading, of string
	for line := range strings.Lines(written) {
		line = strings.TrimSuffix(line, "\n")
		if claim, ok := strings.CutPrefix(line, "### "); ok {
			heading, of = claim, ""
			continue
		}
		if strings.HasPrefix(line, "## ") {
			heading, of = "", ""
			continue
		}
		if name := scenarioOfLine.FindStringSubmatch(line); name != nil && heading != "" {
			of = cmp.Or(of, name[1])
			p[name[1]] = finding{of: of, heading: heading, line: line}
		}
	}
	return p
}

// keep adds what was found before of scenarios that are not in these findings, as long as what they stand below is still
// claimed.
func (p findings) keep(before findings, claims []Claim) {
	for name, f := range before {
		still := slices.ContainsFunc(claims, func(c Claim) bool { return c.Scenario == f.of && text(c.Claim) == f.heading })
		exists := slices.ContainsFunc(claims, func(c Claim) bool { return c.Scenario == name })
		if _, newer := p[name]; !newer && still && exists {
			p[name] = f
		}
	}
}

func (p findings) untried(claims []Claim) (names []string) {
	for _, c := range claims {
		if _, tried := p[c.Scenario]; !tried {
			names = append(names, c.Scenario)
		}
	}
	slices.Sort(names)
	return names
}

// write lists the claims by suite, each with what was seen of it, and of the same without one of its practices. The model is what
// the newest of it is from.
func (p findings) write(w io.Writer, m Model) error {
	var b strings.Builder
	b.WriteString("# What was tried, and what was seen\n\n")
	b.WriteString("Written by `holdfast report RUN ... --catalogue suites/README.md` from the records of runs; not by hand. An upper " +
		"bound takes requests for independent, which those of one disruption are not.\n\n")
	fmt.Fprintf(&b, "A scenario without one of its practices, a mutant, is caught if the promise that is named broke for the planted reason. "+
		"Where its server sets a trap, %s, and being caught says nothing of how often such a server hurts a request.\n\n", history.TrapWords)
	fmt.Fprintf(&b, "Last written from %s on Kubernetes %s, with holdfast %s. %s\n", code(m.RunID), text(m.Cluster.Kubernetes), text(m.Holdfast), m.summary())
	for _, what := range m.Trouble {
		fmt.Fprintf(&b, "\n> [!WARNING]\n> %s\n", text(what))
	}
	suite := ""
	for _, name := range p.names() {
		f := p[name]
		if f.of != name {
			continue
		}
		if now, _, _ := strings.Cut(name, "/"); now != suite {
			suite = now
			fmt.Fprintf(&b, "\n## %s\n", suite)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", f.heading, f.line)
		for _, broken := range p.names() {
			if f := p[broken]; f.of == name && broken != name {
				b.WriteString(f.line + "\n")
			}
		}
	}
	// Mutants whose twin was not run: nothing is left out.
	head := "\n## mutants whose twin was not run\n\n"
	for _, name := range p.names() {
		if _, twin := p[p[name].of]; !twin {
			b.WriteString(head + p[name].line + "\n")
			head = ""
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p findings) names() []string { return slices.Sorted(maps.Keys(p)) }

func catalogueLine(s *Scenario, found string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- %s **%s** ([%s](%s)): %s", shape(s.Result), text(found), text(s.Name), sourceOf(s.Name), text(s.Why))
	for i := range s.Verdicts {
		if v := &s.Verdicts[i]; s.Mutant == nil && v.Seen != s.Why {
			fmt.Fprintf(&b, "; %s", text(v.Seen))
		}
	}
	b.WriteString(text(s.mutantNotes("; ", "")))
	if s.Reproduce != "" {
		fmt.Fprintf(&b, "<br>%s", code(s.Reproduce))
	}
	return b.String()
}
