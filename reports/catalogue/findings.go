package catalogue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// FindingsFile has the findings of all runs, in the folder of the page that is written from them.
const FindingsFile = "findings.json"

// findings are what runs found, by the name of the scenario.
type findings struct {
	Last      lastUpdate         `json:"last"`
	Scenarios map[string]finding `json:"scenarios"`
	// OtherModes is like Scenarios, by the mode of kube-proxy if it was not the usual one.
	OtherModes map[string]map[string]finding `json:"otherModes,omitempty"`
	// Measured are findings that no scenario judges, in the order in which they were first added.
	Measured []Measured `json:"measured,omitempty"`
}

// lastUpdate says which runs the newest findings are from.
type lastUpdate struct {
	Runs       string   `json:"runs"`
	Kubernetes string   `json:"kubernetes"`
	Holdfast   string   `json:"holdfast"`
	Summary    string   `json:"summary"`
	Trouble    []string `json:"trouble,omitempty"`
}

// finding is what was found about a scenario.
type finding struct {
	// Claim is the claim that the finding is about: that of the scenario, or for a mutant that of its twin.
	Claim string `json:"claim,omitempty"`
	// Twin is the scenario with the practice that a mutant lacks; Removed is that practice.
	Twin      string         `json:"twin,omitempty"`
	Removed   string         `json:"removed,omitempty"`
	Result    reports.Result `json:"result"`
	Seen      string         `json:"seen"`
	Reproduce string         `json:"reproduce,omitempty"`
}

func findingsOf(all []reports.Report, claims []Claim) findings {
	r := merged(all)
	f := findings{
		Last: lastUpdate{
			Runs: r.RunID, Kubernetes: r.Cluster.Kubernetes, Holdfast: r.Holdfast, Summary: r.Summary(), Trouble: r.Trouble,
		},
		Scenarios: make(map[string]finding),
	}
	for mode, some := range byMode(all) {
		found := scenarioFindings(merged(some), claims)
		if mode == usualMode {
			f.Scenarios = found
		} else {
			f.in(mode, found)
		}
	}
	return f
}

// scenarioFindings are what a report found, by the name of the scenario.
func scenarioFindings(r reports.Report, claims []Claim) map[string]finding {
	found := make(map[string]finding)
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		one := finding{Claim: s.Claim, Result: s.Result, Seen: s.Why, Reproduce: s.Reproduce}
		if s.Mutant != nil {
			one.Twin, one.Removed, one.Claim = s.Mutant.Twin, s.Mutant.Removed, claimOf(s.Mutant.Twin, claims)
		}
		for j := range s.Verdicts {
			if v := &s.Verdicts[j]; s.Mutant == nil && v.Seen != s.Why {
				one.Seen += "; " + v.Seen
			}
		}
		one.Seen += s.MutantNotes("; ", "")
		found[s.Name] = one
	}
	return found
}

// claimOf is what a scenario claims; empty if there is no such scenario.
func claimOf(scenario string, claims []Claim) string {
	i := slices.IndexFunc(claims, func(c Claim) bool { return c.Scenario == scenario })
	if i < 0 {
		return ""
	}
	return claims[i].Claim
}

// keep adds the findings about scenarios that have no newer one in the same mode of kube-proxy, if the scenario still exists and the
// claim still stands.
func (f *findings) keep(before findings, claims []Claim) {
	f.Measured = before.Measured
	keepIn(f.Scenarios, before.Scenarios, claims)
	for mode, old := range before.OtherModes {
		found := f.OtherModes[mode]
		if found == nil {
			found = make(map[string]finding)
		}
		if keepIn(found, old, claims); len(found) > 0 {
			f.in(mode, found)
		}
	}
}

// in sets the findings in another mode of kube-proxy than the usual one.
func (f *findings) in(mode string, found map[string]finding) {
	if f.OtherModes == nil {
		f.OtherModes = make(map[string]map[string]finding)
	}
	f.OtherModes[mode] = found
}

func keepIn(found, before map[string]finding, claims []Claim) {
	for name, old := range before {
		_, newer := found[name]
		exists := slices.ContainsFunc(claims, func(c Claim) bool { return c.Scenario == name })
		of := name
		if old.Twin != "" {
			of = old.Twin
		}
		if !newer && exists && claimOf(of, claims) == old.Claim {
			found[name] = old
		}
	}
}

func (f findings) untried(claims []Claim) (names []string) {
	for _, c := range claims {
		if _, tried := f.Scenarios[c.Scenario]; !tried {
			names = append(names, c.Scenario)
		}
	}
	slices.Sort(names)
	return names
}

// readFindings reads the findings in a file; none if there is no file.
func readFindings(name string) (f findings, err error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		in := json.NewDecoder(bytes.NewReader(data))
		in.DisallowUnknownFields() // what is not understood would be lost when the file is written
		err = in.Decode(&f)
	}
	if err != nil {
		return f, fmt.Errorf("read findings in %s: %w", name, err)
	}
	return f, nil
}

func writeFindings(w io.Writer, f findings) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(f)
}

// writePage lists the claims by suite. Below each are its finding and the findings about its mutants.
func (f findings) writePage(w io.Writer, claims []Claim) error {
	var b strings.Builder
	b.WriteString("# What was tried, and what was seen\n\n")
	fmt.Fprintf(&b, "`holdfast report RUN ... --catalogue suites/README.md` writes this page from [%s](%s), to which it adds the runs' findings. Do not edit it. "+
		"An upper bound assumes that requests are independent; the requests during one disruption are not.\n\n", FindingsFile, FindingsFile)
	fmt.Fprintf(&b, "A mutant is a scenario without a good practice, or without the few that stand in for each other. It is caught if the named promise broke for the planted reason. "+
		"If the server of a mutant sets a trap, %s, and the catch does not show how often such a server harms a request.\n\n", runfolder.TrapWords)
	fmt.Fprintf(&b, "Last written from %s on Kubernetes %s, with holdfast %s. %s\n", words.MarkdownCode(f.Last.Runs), words.MarkdownText(f.Last.Kubernetes), words.MarkdownText(f.Last.Holdfast), f.Last.Summary)
	for _, what := range f.Last.Trouble {
		fmt.Fprintf(&b, "\n> [!WARNING]\n> %s\n", words.MarkdownText(what))
	}
	names := slices.Sorted(maps.Keys(f.Scenarios))
	suite := ""
	for _, name := range names {
		one := f.Scenarios[name]
		if one.Twin != "" {
			continue
		}
		if now, _, _ := strings.Cut(name, "/"); now != suite {
			suite = now
			fmt.Fprintf(&b, "\n## %s\n", suite)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", words.MarkdownText(one.Claim), one.line(name))
		for _, mutant := range names {
			if m := f.Scenarios[mutant]; m.Twin == name {
				b.WriteString(m.line(mutant) + "\n")
			}
		}
	}
	head := "\n## mutants whose twin was not run\n\n"
	for _, name := range names {
		one := f.Scenarios[name]
		if _, found := f.Scenarios[one.Twin]; one.Twin != "" && !found {
			b.WriteString(head + one.line(name) + "\n")
			head = ""
		}
	}
	f.writeModes(&b)
	f.writeMeasured(&b)
	if untried := f.untried(claims); len(untried) > 0 {
		fmt.Fprintf(&b, "\n## Not tried yet\n\n%s\n", words.MarkdownText(strings.Join(untried, ", ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line is a finding as an item of a list.
func (f finding) line(name string) string {
	found := string(f.Result)
	if f.Removed != "" {
		found = fmt.Sprintf("Without %s: %s", f.Removed, strings.ToLower(found))
	}
	line := fmt.Sprintf("- %s **%s** ([%s](%s)): %s", reports.Shape(f.Result), words.MarkdownText(found), words.MarkdownText(name), sourceOf(name), words.MarkdownText(f.Seen))
	if f.Reproduce != "" {
		line += "<br>" + words.MarkdownCode(f.Reproduce)
	}
	return line
}

// sourceOf is the file of a scenario, which is named after it. The scenario with stock timings is in the same file.
func sourceOf(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "-stock"), "-", "_") + ".go"
}
