package trend_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

// first is when the first night begins. Each other begins a day after the one before.
var first = time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)

// night is a run to be stored.
type night struct {
	Number                          int // 0 is the first
	Holdfast, Kubernetes, ProxyMode string
	CPU                             string
	Seed                            uint64
	Scenarios                       []scenario
}

// scenario is what the run found about a scenario.
type scenario struct {
	Name     string
	Mutant   bool
	Outcome  verdict.Outcome
	Of       string  // the application
	Recovery float64 // in seconds, as are all but Failed
	P99      float64
	Blind    float64
	Failed   uint64
}

// usualNight is a night on which nothing is special.
func usualNight(number int, scenarios ...scenario) night {
	return night{
		Number: number, Holdfast: "v0.1.0", Kubernetes: "v1.37.0", ProxyMode: "nftables", CPU: "Some CPU", Seed: uint64(number) + 1, Scenarios: scenarios,
	}
}

// At is when the night begins.
func (n night) At() time.Time { return first.AddDate(0, 0, n.Number) }

// ID is the name of the run.
func (n night) ID() string { return n.At().Format("20060102-150405") }

// Store writes the run into a folder of its own below root, and returns that folder.
func (n night) Store(t testing.TB, root string) string {
	t.Helper()
	dir := filepath.Join(root, n.ID())
	n.StoreIn(t, dir)
	return dir
}

// StoreIn writes the run's run.json and all its reports into a folder.
func (n night) StoreIn(t testing.TB, dir string) {
	t.Helper()
	if err := n.file(t).Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := formats.Write(dir, n.Report()); err != nil {
		t.Fatal(err)
	}
}

var machine = runfolder.Machine{Cores: 4, Arch: "amd64", Kernel: "6.18.5"}

func (n night) machine() *runfolder.Machine {
	m := machine
	m.CPU = n.CPU
	return &m
}

func (n night) file(t testing.TB) runfolder.File {
	f := runfolder.File{
		ID: n.ID(), Started: n.At(), Ended: n.At().Add(time.Hour), Holdfast: n.Holdfast, Kubernetes: n.Kubernetes, Machine: n.machine(), Profile: "lab", Seed: n.Seed,
		Reproduce: fmt.Sprintf("holdfast run --seed %d", n.Seed), Outcome: string(verdict.Held),
	}
	for _, s := range n.Scenarios {
		one := runfolder.ScenarioResult{Name: s.Name, Dir: s.Name, Took: time.Minute, Outcome: string(s.Outcome), Mutant: s.mutant()}
		for _, v := range s.verdicts() {
			data, err := json.Marshal(v.Recorded())
			if err != nil {
				t.Fatal(err)
			}
			one.Verdicts = append(one.Verdicts, data)
		}
		f.Scenarios = append(f.Scenarios, one)
	}
	return f
}

// Report is that of the run.
func (n night) Report() reports.Report {
	r := reports.Report{
		RunID: n.ID(), Started: n.At(), Took: reports.Seconds(time.Hour), Holdfast: n.Holdfast, Seed: n.Seed, Profile: "lab", Machine: n.machine(), Cluster: n.cluster(),
	}
	for i := range n.Scenarios {
		r.Scenarios = append(r.Scenarios, n.Scenarios[i].report(n.cluster()))
	}
	return r.Completed()
}

func (n night) cluster() reports.Cluster {
	return reports.Cluster{
		Name: "holdfast-" + n.ID(), Kubernetes: n.Kubernetes, Provider: "kind", Engine: "podman 5.4.2", Image: "holdfast/node:" + n.Kubernetes, Profile: "lab",
		ProxyMode: n.ProxyMode,
	}
}

func (s scenario) mutant() *history.Mutant {
	if !s.Mutant {
		return nil
	}
	return &history.Mutant{Removed: "a practice", CaughtBy: "NoFailedRequests"}
}

func (s scenario) verdicts() []reports.Verdict {
	return []reports.Verdict{
		{
			Promise: "no request fails on any lane", Kind: "NoFailedRequests", Outcome: s.Outcome, Seen: fmt.Sprintf("%d of 12000 requests failed", s.Failed),
			Numbers: map[string]float64{"blindSeconds.fresh": s.Blind, "blindSeconds.reused": s.Blind / 2, "doubts": 0},
		},
		{
			Promise: "all replicas are available again within 1m0s", Kind: "RecoversWithin", Outcome: verdict.Held, Seen: "6 of 6 replicas available",
			Numbers: map[string]float64{"recoveredSeconds": s.Recovery},
		},
	}
}

func (s scenario) report(c reports.Cluster) reports.Scenario {
	p99 := reports.Seconds(s.P99 * float64(time.Second))
	r := reports.Scenario{
		Name: s.Name, Claim: "a claim", Application: s.Of, Result: reports.ResultOfOutcome(s.Outcome), Why: "as planted", Took: reports.Seconds(time.Minute), Cluster: c, Verdicts: s.verdicts(),
		Lanes: []reports.Lane{{Name: history.LaneFresh, OK: 12000 - s.Failed, Failed: s.Failed, Latency: reports.Quantiles{P50: p99 / 2, P99: p99, Max: p99}}},
	}
	if m := s.mutant(); m != nil {
		r.Mutant = &reports.Mutant{Mutant: *m}
		r.Result = map[reports.Result]reports.Result{reports.Violated: reports.Caught, reports.Held: reports.Missed, reports.Unknown: reports.Unknown}[r.Result]
	}
	return r
}

// storeCertificate writes a certificate of an upgrade in that night into a folder of its own below root, and returns the folder.
func storeCertificate(t testing.TB, root string, number int, result certificate.Result, failed uint64, apps ...certificate.Application) string {
	t.Helper()
	at := first.AddDate(0, 0, number).Add(time.Hour)
	recovery := 2.5
	side := certificate.Side{
		Verdict: reports.Held, Requests: 1000, RecoverySeconds: &recovery, Lanes: []certificate.Lane{{Name: "fresh", Requests: 1000, P99Seconds: 0.01}},
	}
	upgrade := certificate.Upgrade{Side: side}
	if failed > 0 {
		upgrade.Verdict, upgrade.Lanes = reports.Violated, []certificate.Lane{{Name: "fresh", Requests: 1000, Failed: failed, P99Seconds: 0.01}}
	}
	c := &certificate.Certificate{
		APIVersion: certificate.APIVersion, Kind: certificate.Kind, ID: at.Format("20060102-150405"), Issued: at, Holdfast: "v0.1.0", Seed: uint64(number) + 1,
		From: certificate.Release{Kubernetes: "v1.36.3"}, To: certificate.Release{Kubernetes: "v1.37.0"}, Machine: certificate.Machine{Cores: 4, Arch: "amd64"},
		Result: result, Upgrade: upgrade,
		Scenarios: []certificate.Scenario{{Name: "chaos/drain-one-worker", Claim: "a claim", Verdict: reports.Held, Before: side, After: side}},
	}
	for _, app := range apps { // one at most
		c.Application = &app
	}
	dir := filepath.Join(root, c.ID)
	if err := certificate.Write(dir, c); err != nil {
		t.Fatal(err)
	}
	return dir
}
