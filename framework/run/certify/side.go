package certify

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// storedRun is one of the three runs, read from its folder.
type storedRun struct {
	what string // "the run before the upgrade"
	dir  string // where it is
	link string // relative to the folder of the certificate, with slashes; empty if it is not below that
	// missing is why the run as a whole is no evidence: it does not exist, or is incomplete. Empty if it completed.
	missing string
	report  reports.Report
	listed  map[string]runfolder.ScenarioResult
}

// openRun reads a run. If the run cannot be read, missing says why.
func openRun(what, from, dir string) storedRun {
	f := storedRun{what: what, dir: dir, listed: make(map[string]runfolder.ScenarioResult)}
	if dir == "" {
		f.missing = "there is none"
		return f
	}
	if link, err := filepath.Rel(from, dir); err == nil && filepath.IsLocal(link) {
		f.link = filepath.ToSlash(link)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) { // the folder is made when the run begins
		f.missing = "it was not begun"
		return f
	}
	var err error
	if f.report, err = reports.Build(dir); err != nil {
		f.missing = err.Error()
		return f
	}
	if len(f.report.Trouble) > 0 {
		f.missing = f.report.Trouble[0]
	}
	if file, err := runfolder.ReadFile(dir); err == nil { // otherwise Build has reported it
		for i := range file.Scenarios {
			f.listed[file.Scenarios[i].Name] = file.Scenarios[i]
		}
	}
	return f
}

// side is what a run found about a scenario. On is the version that the cluster must have run; empty for any.
func (f *storedRun) side(name, on, skipped string) certificate.Side {
	listed := f.listed[name]
	for i := range f.report.Scenarios {
		if s := &f.report.Scenarios[i]; s.Name == name {
			if s.Result == reports.Unsupported {
				return emptySide(reports.NotSupported, s.Why)
			}
			return f.found(s, listed, on)
		}
	}
	switch {
	case skipped != "":
		return emptySide(reports.Skipped, skipped)
	case f.missing != "":
		return emptySide(reports.Unknown, f.what+" has no record of the scenario: "+f.missing)
	}
	return emptySide(reports.Unknown, f.what+" has no record of the scenario")
}

// emptySide is a side without findings.
func emptySide(v reports.Result, why string) certificate.Side {
	return certificate.Side{Verdict: v, Why: why, Promises: []certificate.Promise{}, Lanes: []certificate.Lane{}, Causes: []reports.Cause{}}
}

// found is the side that a report shows.
func (f *storedRun) found(r *reports.Scenario, listed runfolder.ScenarioResult, on string) certificate.Side {
	s := emptySide(verdictOf(r), r.Why)
	s.Requests, s.Failed, s.Unsent, s.UpperBound95 = r.Requests.Sent, r.Requests.Failed, r.Requests.Unsent, r.Requests.UpperBound95
	s.Disruptions = r.Disruptions
	s.Kubernetes, s.Reproduce, s.Causes = r.Cluster.Kubernetes, r.Reproduce, r.Causes
	for i := range r.Verdicts {
		s.Promises = append(s.Promises, promiseOf(&r.Verdicts[i], r.Incomplete))
	}
	for i := range r.Lanes {
		l := &r.Lanes[i]
		s.Lanes = append(s.Lanes, certificate.Lane{
			Name: string(l.Name), Requests: l.Sent(), Failed: l.Failed, Unsent: l.Unsent, UpperBound95: l.UpperBound95,
			P99Seconds: time.Duration(l.Latency.P99).Seconds(),
		})
	}
	dir := cmp.Or(listed.Dir, r.Name)
	if run, ok := f.open(dir); ok {
		if f.link != "" {
			s.Record = path.Join(f.link, dir)
		}
		measure(&s, run)
	}
	if on != "" && s.Kubernetes != "" && s.Kubernetes != on && s.Verdict != reports.Violated {
		s.Verdict, s.Why = reports.Unknown, fmt.Sprintf("its record says that the cluster ran %s, not %s", s.Kubernetes, on)
	}
	return s
}

// open reads the record of a scenario; ok is false if there is none.
func (f *storedRun) open(dir string) (run history.Run, ok bool) {
	local := filepath.FromSlash(dir)
	if !filepath.IsLocal(local) {
		return run, false
	}
	run, err := history.Open(filepath.Join(f.dir, local))
	return run, err == nil
}

// verdictOf is the verdict on a scenario. A caught mutant is Violated here: it has shown that a promise was broken.
func verdictOf(r *reports.Scenario) reports.Result {
	broken := r.Mutant != nil && slices.ContainsFunc(r.Verdicts, func(v reports.Verdict) bool { return v.Outcome == verdict.Violated })
	switch {
	case broken || r.Result == reports.Violated || r.Result == reports.Caught:
		return reports.Violated
	case r.Result == reports.Held || r.Result == reports.Missed || r.Result == reports.Escaped:
		return reports.Held
	case r.Result == reports.Interrupted:
		return reports.Interrupted
	case r.Result == reports.NotBegun:
		return reports.NotBegun
	}
	return reports.Unknown
}

// promiseOf is the promise of a verdict. In an incomplete record nothing has held.
func promiseOf(v *reports.Verdict, incomplete string) certificate.Promise {
	p := certificate.Promise{Promise: v.Promise, Kind: v.Kind, Verdict: reports.Unknown, Seen: v.Seen, Evidence: v.Evidence}
	switch {
	case v.Outcome == verdict.Violated:
		p.Verdict = reports.Violated
	case v.Outcome == verdict.Held && incomplete == "":
		p.Verdict = reports.Held
	}
	if cause := judge.ReportedCause(v.Recorded()); cause != judge.CauseNone {
		p.Cause = string(cause)
	}
	return p
}
