// Package formats writes the reports of a run, in one file for each format: junit.xml for a CI server, report.json for programs,
// report.md for a job summary, and report.html for people.
//
//	if err := formats.WriteAll("artifacts/latest"); err != nil { ... }
//
// All are written from one reports.Report. report.md begins like this:
//
//	## ✅ Held: holdfast run `20260102-030405`
//
//	5 held, 6 mutants caught. Without the mutants: 0 of 62,000 requests failed over 31 disruption events.
//
//	| | scenario | requests | failed | disruptions | at most, 95 % | p99 |
//	| --- | --- | ---: | ---: | ---: | ---: | ---: |
//	| ✅ Held | **chaos/drain-one-worker**<br>draining one worker is invisible to clients | 12,000 | 0 | 1 | 0.025 % | 3.31 ms |
package formats

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/page"
)

// The names of the reports, in a run's folder.
const (
	HTMLFile     = "report.html"
	MarkdownFile = "report.md"
	JSONFile     = "report.json"
	JUnitFile    = "junit.xml"
)

// WriteAll writes all reports of a run into its folder, each completely or not at all. An error does not keep the other reports from being
// written. Call it when the run has ended in run.json; before that the run is reported as killed.
func WriteAll(runDir string) error {
	r, err := reports.Build(runDir)
	if err != nil {
		return err
	}
	return Write(runDir, r)
}

// Write writes all formats of a report, as WriteAll does.
func Write(runDir string, r reports.Report) error {
	return reports.WriteForms(runDir, r, []reports.Form[reports.Report]{
		{File: JUnitFile, Write: writeJUnit}, {File: JSONFile, Write: reports.WriteJSON[reports.Report]},
		{File: MarkdownFile, Write: writeMarkdown}, {File: HTMLFile, Write: page.Write},
	}...)
}

// The elements of JUnit's XML. Two schemas are in wide use, Ant's and Jenkins', and this is what both allow: properties belong to a suite
// and not to a case, a case fails once, and testsuites has no attributes. The types of Ginkgo's reporters have attributes that Ant's schema
// forbids, and lack some that it demands.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Package    string          `xml:"package,attr"`
	ID         int             `xml:"id,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Hostname   string          `xml:"hostname,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	SystemOut  junitText       `xml:"system-out"`
	SystemErr  junitText       `xml:"system-err"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Classname string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Error     *junitProblem `xml:"error"`
	Failure   *junitProblem `xml:"failure"`
	Skipped   *junitSkipped `xml:"skipped"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

// junitText keeps its line ends. As character data they would be written as &#xA;.
type junitText struct {
	Text string `xml:",cdata"`
}

// writeJUnit writes junit.xml: a test suite for each suite, a test case for each scenario.
func writeJUnit(w io.Writer, r reports.Report) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(junitSuites{Suites: junitOf(r)}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitOf(r reports.Report) []junitSuite {
	var suites []junitSuite
	var took []reports.Seconds
	at := make(map[string]int)
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		suite, name := reports.SplitName(s.Name)
		n, known := at[suite]
		if !known {
			n = len(suites)
			at[suite] = n
			suites = append(suites, newJUnitSuite(r, suite, n))
			took = append(took, 0)
		}
		took[n] += s.Took
		suites[n].add(s, name)
		suites[n].Time = junitSeconds(took[n])
	}
	failed := func(j junitSuite) bool { return j.Errors+j.Failures > 0 }
	if r.Result != reports.Held && !slices.ContainsFunc(suites, failed) {
		suites = append(suites, junitOfRun(r, len(suites)))
	}
	return suites
}

// junitOfRun is an error of the run itself. Without it, readers of JUnit would take a run of which something is missing for a success: one that
// was killed, or that left scenarios out.
func junitOfRun(r reports.Report, id int) junitSuite {
	j := newJUnitSuite(r, "run", id)
	why := strings.Join(append([]string{r.Line()}, r.Trouble...), "\n") + "\nreproduce: " + r.Reproduce + "\n"
	j.Tests, j.Errors, j.Time = 1, 1, junitSeconds(0)
	j.Cases = []junitCase{{
		Name: "everything was judged", Classname: j.Package + "." + j.Name, Time: j.Time,
		Error: &junitProblem{Message: r.Line(), Type: strings.ToLower(string(r.Result)), Text: readable(why)},
	}}
	return j
}

func newJUnitSuite(r reports.Report, name string, id int) junitSuite {
	started := r.Started
	if started.IsZero() {
		started = time.Unix(0, 0) // the attribute must be there
	}
	out := fmt.Sprintf("holdfast run %s: %s\nreproduce: %s\n", r.RunID, r.Result, r.Reproduce)
	return junitSuite{
		Name: name, Package: "holdfast", ID: id, Hostname: cmp.Or(r.Cluster.Name, "localhost"),
		Timestamp: started.UTC().Format("2006-01-02T15:04:05"), SystemOut: junitText{readable(out)},
		Properties: []junitProperty{
			{"run", r.RunID}, {"holdfast", r.Holdfast}, {"kubernetes", r.Cluster.Kubernetes}, {"profile", r.Profile},
			{"proxyMode", r.Cluster.ProxyMode}, {"seed", r.SeedText()},
		},
	}
}

func (j *junitSuite) add(s *reports.Scenario, name string) {
	c := junitCase{Name: name, Classname: j.Package + "." + j.Name, Time: junitSeconds(s.Took)}
	j.Tests++
	switch {
	case s.Result == reports.Unsupported || s.Result == reports.NotBegun:
		j.Skipped++
		c.Skipped = &junitSkipped{Message: s.Why}
	case s.Result.Broken():
		j.Failures++
		c.Failure = &junitProblem{Message: s.Why, Type: strings.ToLower(string(s.Result)), Text: junitDetails(s)}
	case s.Result == reports.Interrupted:
		// The scenario began, so it was not skipped; its result is not known.
		j.Errors++
		c.Error = &junitProblem{Message: s.Why, Type: "interrupted", Text: junitDetails(s)}
	case !s.Result.Good():
		// An error in JUnit is a test without a result, as Unknown is. Tools count errors and failures separately, and fail a build for
		// both.
		j.Errors++
		c.Error = &junitProblem{Message: s.Why, Type: "unknown", Text: junitDetails(s)}
	}
	j.Cases = append(j.Cases, c)
	j.Properties = append(j.Properties, junitNumbers(s, name)...)
}

// junitNumbers are the numbers of a scenario. They are properties of the suite, so each name begins with the scenario's.
func junitNumbers(s *reports.Scenario, name string) []junitProperty {
	whole := func(n uint64) string { return strconv.FormatUint(n, 10) }
	list := []junitProperty{
		{"result", string(s.Result)}, {"requests", whole(s.Sent())}, {"failed", whole(s.Failed())},
		{"unsent", whole(s.Unsent())}, {"podTerminations", strconv.Itoa(s.Disruptions.PodTerminations)},
		{"nodeLosses", strconv.Itoa(s.Disruptions.NodeLosses)},
	}
	if bound, _ := s.Bounds95(); bound != nil {
		list = append(list, junitProperty{"upperBound95", strconv.FormatFloat(*bound, 'g', 4, 64)})
	}
	for i := range s.Faults {
		a := s.Faults[i].Affected
		for _, p := range []junitProperty{
			{"requestsInFlight", whole(a.RequestsInFlight)}, {"podTerminations", strconv.Itoa(a.PodTerminations)},
			{"podRestarts", strconv.Itoa(a.PodRestarts)}, {"nodeLosses", strconv.Itoa(a.NodeLosses)},
		} {
			list = append(list, junitProperty{fmt.Sprintf("fault.%d.%s", i, p.Name), p.Value})
		}
	}
	for i := range s.Verdicts {
		v := &s.Verdicts[i]
		for _, key := range slices.Sorted(maps.Keys(v.Numbers)) {
			value := strconv.FormatFloat(v.Numbers[key], 'g', -1, 64)
			list = append(list, junitProperty{fmt.Sprintf("%s.%d.%s", v.Kind, i, key), value})
		}
	}
	for i := range list {
		list[i].Name = name + "." + list[i].Name
	}
	return list
}

// junitDetails are the claim, the verdicts that did not hold, and the command, for readers of a CI page.
func junitDetails(s *reports.Scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b, "claim: %s\n", s.Claim)
	if s.Mutant != nil {
		fmt.Fprintf(&b, "mutant: without %s, must be caught by %s%s\n", s.Mutant.Removed, s.Mutant.CaughtBy, s.MutantNotes("; ", ""))
	}
	for i := range s.Verdicts {
		if v := &s.Verdicts[i]; v.Outcome != verdict.Held || s.Mutant != nil {
			fmt.Fprintf(&b, "%s: %s\n  %s\n", v.Outcome, v.Promise, v.Seen)
			for _, line := range v.Evidence {
				fmt.Fprintf(&b, "  - %s\n", line)
			}
		}
	}
	for _, r := range s.Remedies {
		fmt.Fprintf(&b, "%s: %s\n", r.Title(), r)
	}
	for _, what := range s.Trouble {
		fmt.Fprintf(&b, "trouble: %s\n", what)
	}
	fmt.Fprintf(&b, "reproduce: %s\n", s.Reproduce)
	return readable(b.String())
}

// readable removes the characters that XML does not allow. A CDATA section takes all others as they are.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// junitSeconds has no exponent: both schemas want a plain decimal.
func junitSeconds(d reports.Seconds) string {
	return strconv.FormatFloat(time.Duration(d).Seconds(), 'f', 3, 64)
}
