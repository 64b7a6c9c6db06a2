package trend

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

// Night is one stored run, or one certificate.
type Night struct {
	Dir       string         `json:"dir"` // its folder below the one that was read, with slashes; "." for that folder itself
	ID        string         `json:"id"`
	At        time.Time      `json:"at"` // when it began, or when the certificate was issued; zero if unknown
	Result    reports.Result `json:"-"`
	Trouble   string         `json:"-"` // why the run is not whole: it is damaged, cannot be read, was killed or interrupted; empty if it is
	Page      string         `json:"-"` // what a reader can open of it, relative to the folder that was read
	Scenarios []Scenario     `json:"-"`
	seed      uint64
}

// String names the night by its time.
func (n *Night) String() string { return n.At.UTC().Format("2006-01-02 15:04") + " (" + n.ID + ")" }

// Scenario is what a night found about a scenario.
type Scenario struct {
	Name       string
	Mutant     bool
	Result     reports.Result
	Line, Kind string // see Line
	Versions   Versions
	figures    []float64 // in the order of Figures; NaN: the night has no such figure of the scenario
}

// Find is a scenario of the night; nil if it has none of the name on the line.
func (n *Night) Find(name, line string) *Scenario {
	for i := range n.Scenarios {
		if s := &n.Scenarios[i]; s.Name == name && s.Line == line {
			return s
		}
	}
	return nil
}

// Read reads all runs and certificates below a folder, in the order of time; those whose time is unknown come first. The folder may be a
// symbolic link; links below it, such as latest, are not followed. The runs of which a certificate consists are not nights of their own.
func Read(root string) (all []*Night, err error) {
	add := func(dir string, read func(folder string) (*Night, error), page string) {
		all = append(all, readNight(root, dir, read, page))
	}
	orphans := make(map[string]bool) // folders with records and without a run.json or report.json
	below := os.DirFS(root)
	err = fs.WalkDir(below, ".", func(dir string, entry fs.DirEntry, err error) error {
		has := func(name string) bool {
			info, err := fs.Stat(below, path.Join(dir, name))
			return err == nil && !info.IsDir()
		}
		switch {
		case err != nil && dir == ".":
			return err
		case err != nil:
			add(dir, func(string) (*Night, error) { return nil, err }, "")
		case !entry.IsDir():
			return nil
		case strings.HasPrefix(entry.Name(), runfolder.SetAsidePrefix):
		case has(certificate.JSONFile) || has(certificate.YAMLFile):
			add(dir, readCertificate, certificate.HTMLFile)
		case has(runfolder.FileName) || has(formats.JSONFile):
			add(dir, readRun, formats.HTMLFile)
		case has(history.EventsFile):
			if run := path.Dir(path.Dir(dir)); !orphans[run] { // records are in suite/name of the run's folder
				orphans[run] = true
				add(run, readRun, "")
			}
		default:
			return nil
		}
		return fs.SkipDir
	})
	if err != nil {
		return nil, fmt.Errorf("look for runs in %q: %w: give a folder with the folders of runs, such as artifacts", root, err)
	}
	slices.SortFunc(all, func(a, b *Night) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Dir, b.Dir))
	})
	return all, nil
}

// readNight reads what is in a folder below root.
func readNight(root, dir string, read func(folder string) (*Night, error), page string) *Night {
	folder := filepath.Join(root, filepath.FromSlash(dir))
	n, err := read(folder)
	if err != nil { // files are named from root on, because the reader may be on another machine
		n = &Night{Result: reports.Unknown, Trouble: "cannot be read: " + strings.ReplaceAll(err.Error(), filepath.Clean(root)+string(filepath.Separator), "")}
	}
	n.Dir, n.ID, n.Page = dir, cmp.Or(n.ID, path.Base(dir)), dir+"/"
	const layout = "20060102-150405" // begins the name of a run
	if at, err := time.Parse(layout, n.ID[:min(len(n.ID), len(layout))]); err == nil && n.At.IsZero() {
		n.At = at
	}
	if n.At.IsZero() {
		n.Trouble = strings.TrimPrefix(n.Trouble+"; it does not say when it began, so it has no place among the nights", "; ")
	}
	if _, err := os.Stat(filepath.Join(folder, page)); err == nil {
		n.Page += page
	}
	return n
}

// readRun reads a run. Its report.json counts if it is the report of the complete run which run.json describes, or if there is nothing else.
// Any other run is reported from its record: a killed run is part of its line only then, and must be seen there.
func readRun(folder string) (*Night, error) {
	stored, err := reports.Read(filepath.Join(folder, formats.JSONFile))
	file, fileErr := runfolder.ReadFile(folder)
	if _, none := os.Stat(filepath.Join(folder, runfolder.FileName)); err == nil &&
		(errors.Is(none, os.ErrNotExist) || fileErr == nil && len(judge.Lacks(file)) == 0 && stored.RunID == file.ID) {
		return NightOf(stored), nil
	}
	built, buildErr := reports.Build(folder)
	if buildErr == nil {
		return NightOf(built), nil
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil // a missing report is not what is wrong
	}
	return nil, cmp.Or(err, buildErr)
}

// NightOf is the night of a report, which is in no folder.
func NightOf(r reports.Report) *Night {
	n := &Night{ID: r.RunID, At: r.Started, Result: r.Result, seed: r.Seed}
	switch {
	case len(r.Trouble) > 0:
		n.Trouble = strings.Join(r.Trouble, "; ")
	case r.Counts.Interrupted+r.Counts.NotBegun > 0:
		n.Trouble = "interrupted by " + cmp.Or(r.Interrupted, "a signal")
	}
	for i := range r.Scenarios {
		of := &r.Scenarios[i]
		s := Scenario{Name: of.Name, Mutant: of.Mutant != nil, Result: of.Result, figures: measure(of)}
		s.place(&r, of)
		n.Scenarios = append(n.Scenarios, s)
	}
	return n
}

// readCertificate reads a certificate as the report of its upgrade, its scenarios, and the user's application. They have the worse verdict
// of both sides, and the figures of the side after the upgrade.
func readCertificate(folder string) (*Night, error) {
	c, err := certificate.Read(folder)
	if err != nil {
		return nil, err
	}
	m := c.Machine
	r := reports.Report{
		RunID: c.ID, Started: c.Issued, Result: certificate.ResultOf(c.Result), Holdfast: c.Holdfast, Seed: c.Seed,
		Machine: &runfolder.Machine{Cores: m.Cores, Arch: m.Arch, Kernel: m.Kernel},
		Cluster: reports.Cluster{Kubernetes: minor(c.From.Kubernetes) + " to " + minor(c.To.Kubernetes), Image: c.To.Image, Engine: m.Engine},
	}
	add := func(name string, result reports.Result, side *certificate.Side) {
		s := reports.Scenario{Name: name, Result: result}
		for _, l := range side.Lanes {
			s.Lanes = append(s.Lanes, reports.Lane{
				Name: history.Lane(l.Name), OK: l.Requests - min(l.Requests, l.Failed), Failed: l.Failed,
				Latency: reports.Quantiles{P99: reports.Seconds(l.P99Seconds * 1e9)},
			})
		}
		if side.RecoverySeconds != nil {
			s.Verdicts = []reports.Verdict{{Numbers: map[string]float64{"recoveredSeconds": *side.RecoverySeconds}}}
		}
		if result == reports.Interrupted || c.Result == certificate.Interrupted {
			r.Trouble = []string{"interrupted"}
		}
		r.Scenarios = append(r.Scenarios, s)
	}
	result := c.Upgrade.Verdict
	if c.Failure != nil { // an upgrade that stopped, whatever was judged
		result = reports.Violated
	}
	add(upgrade, result, &c.Upgrade.Side)
	for i := range c.Scenarios {
		add(c.Scenarios[i].Name, c.Scenarios[i].Verdict, &c.Scenarios[i].After)
	}
	if a := c.Application; a != nil {
		add("application "+a.Name, certificate.ResultOf(a.Result), &a.Upgrade.Side)
	}
	if c.Cluster != nil {
		r.Cluster.Name, r.Cluster.Engine = c.Cluster.Name, ""
	}
	n := NightOf(r)
	for i := range n.Scenarios {
		s := &n.Scenarios[i]
		s.Line, s.Kind = joined([2]string{"certificates of ", s.Line}, [2]string{"planted ", c.Planted}), joined([2]string{"", certificates}, [2]string{"", s.Kind}, [2]string{"planted ", c.Planted})
		s.Versions[0] = c.From.Kubernetes + " to " + c.To.Kubernetes
	}
	return n, nil
}

// certificates begins the kind of a line of certificates, whose upgrade itself is a scenario.
const (
	certificates = "certificates"
	upgrade      = "the upgrade"
)
