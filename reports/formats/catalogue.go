package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/reports"
)

// FindingsFile has what was last seen of each scenario, in the folder of the catalogue that is written from it.
const FindingsFile = "findings.json"

// findings are what was last seen of each scenario, by the scenario's name.
type findings struct {
	Last      string             `json:"last"` // the run that judged last
	Scenarios map[string]finding `json:"scenarios"`
}

// finding is what a run saw of a scenario.
type finding struct {
	// Claim is what the scenario claims, or what Twin claims if the scenario is a mutant of Twin.
	Claim    string         `json:"claim"`
	Twin     string         `json:"twin,omitempty"`
	Result   reports.Result `json:"result"`
	Headline string         `json:"headline"`
}

// UpdateCatalogue adds what runs found to the findings in the folder of page, and writes page from all findings. Claims are what the scenarios
// claim now, by their names. A finding about another claim is dropped. Findings that these runs do not replace stay, because the suites
// outlive the records of runs. Without runs, page is written again.
func UpdateCatalogue(page string, claims map[string]string, runDirs ...string) error {
	data := filepath.Join(filepath.Dir(page), FindingsFile)
	f, err := readFindings(data)
	if err != nil {
		return err
	}
	for _, dir := range runDirs {
		r, err := reports.Build(dir)
		if err != nil {
			return err
		}
		f.add(r, claims)
	}
	maps.DeleteFunc(f.Scenarios, func(name string, found finding) bool {
		_, exists := claims[name]
		return !exists || claims[cmp.Or(found.Twin, name)] != found.Claim
	})
	return reports.WriteForms(filepath.Dir(page), f, []reports.Form[findings]{{File: FindingsFile, Write: reports.WriteJSON[findings]}, {
		File: filepath.Base(page), Write: func(w io.Writer, f findings) error { return f.writePage(w, slices.Sorted(maps.Keys(claims))) },
	}}...)
}

// add adds the scenarios of a run that were judged, or that the environment could not run.
func (f *findings) add(r reports.Report, claims map[string]string) {
	f.Last = fmt.Sprintf("%s on Kubernetes %s, with holdfast %s", r.RunID, r.Cluster.Kubernetes, r.Holdfast)
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if len(s.Verdicts) == 0 && s.Result != reports.Unsupported {
			continue
		}
		found := finding{Claim: s.Claim, Result: s.Result, Headline: headline(s.Why)}
		if s.Mutant != nil {
			found.Twin, found.Claim = s.Mutant.Twin, claims[s.Mutant.Twin]
		}
		f.Scenarios[s.Name] = found
	}
}

// headline is the first clause of a sentence, of at most 160 characters.
func headline(why string) string {
	const most = 160
	first, _, _ := strings.Cut(why, "; ")
	if text := []rune(first); len(text) > most {
		return string(text[:most-1]) + "…"
	}
	return first
}

// readFindings reads the findings in a file; without a file there are none.
func readFindings(name string) (findings, error) {
	f := findings{Scenarios: make(map[string]finding)}
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

// writePage writes a table for each suite, with a row for each scenario that was seen, and the names of the others.
func (f findings) writePage(w io.Writer, all []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# What was seen of each scenario\n\n"+
		"`holdfast report RUN ... --catalogue suites/README.md` writes this page from [%s](%s), to which it adds what the runs found. "+
		"`holdfast run SCENARIO` runs a scenario again. A mutant is a scenario without a good practice; it is caught if the "+
		"promise that it names broke for that reason.\n\nLast written from %s.\n", FindingsFile, FindingsFile, prose.MarkdownText(f.Last))
	suite := ""
	for _, name := range slices.Sorted(maps.Keys(f.Scenarios)) {
		now, short := reports.SplitName(name)
		if now != suite {
			suite = now
			fmt.Fprintf(&b, "\n## %s\n\n| scenario | verdict | seen |\n| --- | --- | --- |\n", suite)
		}
		found := f.Scenarios[name]
		fmt.Fprintf(&b, "| %s | %s | %s |\n", short, reports.Mark(found.Result), prose.MarkdownText(found.Headline))
	}
	untried := slices.DeleteFunc(all, func(name string) bool { _, seen := f.Scenarios[name]; return seen })
	if len(untried) > 0 {
		fmt.Fprintf(&b, "\n## Not tried yet\n\n%s\n", prose.MarkdownText(strings.Join(untried, ", ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
