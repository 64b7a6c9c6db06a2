package certify

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

const (
	sec      = time.Second
	from, to = "v1.36.3", "v1.37.0"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// light is Healthy with a twentieth of its requests, which is quick to write, and with the promises of a drain.
func light(name, kubernetes string) *historytest.Builder {
	b := historytest.Healthy().DropRequests(func(r history.Request) bool { return r.Seq%20 != 0 })
	return b.Header(func(h *history.Header) {
		h.Scenario, h.Claim, h.Cluster.Kubernetes = name, name+" is invisible", kubernetes
		h.Promises = nil
	})
}

// upgraded is the record of an upgrade that nobody noticed.
func upgraded() *historytest.Builder {
	b := light(UpgradeScenario, to)
	for i, s := range []struct {
		what, node string
		from, to   history.Offset
	}{
		{"kubeadm upgrade apply", "control-plane", 15500 * time.Millisecond, 16 * sec},
		{"drain", "w1", 16 * sec, 22 * sec},
		{"swap kubelet", "w1", 22 * sec, 29 * sec},
		{"uncordon", "w1", 29 * sec, 31 * sec},
	} {
		step := history.Step{ID: i, What: s.what, Node: s.node, From: from, To: to, Stage: history.StepBegin}
		b.Step(s.from, step)
		step.Stage = history.StepEnd
		b.Step(s.to, step)
	}
	return b
}

// failing loses requests for a cause: to the victim, after it had slept for as long as it takes on a usual machine.
func failing(b *historytest.Builder) *historytest.Builder {
	return b.Fail(history.LaneFresh, 18*sec, 20*sec, history.Refused)
}

func verdictOn(outcome verdict.Outcome, kind, seen string) verdict.Verdict {
	v := verdict.Verdict{Promise: "no request fails, on any lane", Kind: kind, Outcome: outcome, Seen: seen, Evidence: []string{"17.000s fresh #1"}}
	if outcome == verdict.Violated {
		v.At, v.Numbers = 18*sec, map[string]float64{"cause.late-withdrawal": 20, "cause.unknown": 1}
	}
	return v
}

// found is a scenario of a run, for stored.
type found struct {
	name         string
	outcome      verdict.Outcome
	record       *historytest.Builder // nil: a light one
	notSupported string
	lost         bool   // its record is gone
	err          string // that the harness had
	notBegun     string
	interrupted  string
	mutant       bool
}

// stored writes a run's folder.
func stored(t *testing.T, dir, kubernetes string, scenarios ...found) {
	t.Helper()
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	file := runfolder.File{
		ID: filepath.Base(dir), Started: started, Ended: started.Add(time.Minute), Holdfast: "v0.1.0", Kubernetes: kubernetes, Seed: 7,
		Reproduce: "holdfast run --seed 7", Outcome: "held",
	}
	for _, f := range scenarios {
		result := runfolder.ScenarioResult{
			Name: f.name, Dir: f.name, Outcome: string(f.outcome), NotSupported: f.notSupported, Error: f.err, NotBegun: f.notBegun, Interrupted: f.interrupted,
			Reproduce: "holdfast run " + f.name + " --seed 7", Took: 45 * sec,
		}
		record := f.record
		if record == nil {
			record = light(f.name, kubernetes)
			if f.outcome == verdict.Violated {
				failing(record)
			}
			if f.notSupported != "" {
				historytest.Unsupported(record, f.notSupported)
			}
		}
		if f.outcome != "" {
			seen := map[verdict.Outcome]string{
				verdict.Held: "0 of 600 requests failed", verdict.Violated: "21 of 600 requests failed, the first at 18s",
				verdict.Unknown: "no verdict: the load worker stood still",
			}[f.outcome]
			raw, err := json.Marshal(verdictOn(f.outcome, "NoFailedRequests", seen))
			must(t, err)
			result.Verdicts = []json.RawMessage{raw}
		}
		if f.mutant {
			result.Mutant, result.Outcome = &history.Mutant{Removed: "a preStop sleep", CaughtBy: "NoFailedRequests", Twin: "chaos/drain"}, "held"
		}
		file.Scenarios = append(file.Scenarios, result)
		record.Header(func(h *history.Header) { h.RunID = file.ID })
		if !f.lost && f.err+f.notBegun+f.interrupted == "" {
			must(t, record.Write(filepath.Join(dir, filepath.FromSlash(f.name))))
		}
	}
	must(t, errors.Join(os.MkdirAll(dir, 0o755), file.Write(dir)))
}

// profiles of three features, of which one has two scenarios.
func profiles() []scenario.Profile {
	of := func(names ...string) (list []scenario.Spec) {
		for _, n := range names {
			list = append(list, scenario.Spec{Name: n, Claim: n + " is invisible to clients"})
		}
		return list
	}
	return []scenario.Profile{
		{Name: "Core", Features: []scenario.Feature{{Name: "drain", Scenarios: of("chaos/drain")}, {Name: "rollout", Scenarios: of("chaos/rollout", "chaos/rollback")}}},
		{Name: "Extended", Features: []scenario.Feature{{Name: "node kill", Scenarios: of("chaos/kill")}}},
	}
}

var all = []string{"chaos/drain", "chaos/rollout", "chaos/rollback", "chaos/kill"}

// sides are what to store; those that are not named held.
type sides struct {
	before, after map[string]found
	upgrade       found
}

// input stores the three runs and says where they are.
func input(t *testing.T, s sides) Input {
	t.Helper()
	dir := t.TempDir()
	in := Input{
		Dir: dir, Before: filepath.Join(dir, "before"), Upgrade: filepath.Join(dir, "upgrade"), After: filepath.Join(dir, "after"),
		ID: "20260102-030405", Issued: time.Date(2026, 1, 2, 4, 0, 0, 1, time.UTC), Holdfast: "v0.1.0",
		From:    certificate.Release{Kubernetes: from, Image: "kindest/node:v1.36.3", Digest: "sha256:aa", Components: map[string]string{"etcd": "3.6.4"}},
		To:      certificate.Release{Kubernetes: to, Image: "kindest/node:v1.37.0", Digest: "sha256:bb", Components: map[string]string{"etcd": "3.6.5"}},
		Machine: certificate.Machine{Cores: 2, Engine: "podman 5.4.2"}, Seed: 4711, Reproduce: "holdfast certify --from v1.36.3 --to v1.37.0 --seed 4711",
		Profiles: profiles(),
	}
	side := func(dir, kubernetes string, other map[string]found) {
		var list []found
		for _, name := range all {
			f, told := other[name]
			if !told {
				f = found{outcome: verdict.Held}
			}
			if f == (found{}) {
				continue // as if it had never been begun
			}
			f.name = name
			list = append(list, f)
		}
		stored(t, dir, kubernetes, list...)
	}
	side(in.Before, from, s.before)
	side(in.After, to, s.after)
	if s.upgrade.outcome == "" {
		s.upgrade.outcome = verdict.Held
	}
	s.upgrade.name = UpgradeScenario
	if s.upgrade.record == nil {
		s.upgrade.record = upgraded()
		if s.upgrade.outcome == verdict.Violated {
			failing(s.upgrade.record)
		}
	}
	stored(t, in.Upgrade, to, s.upgrade)
	return in
}

func assemble(t *testing.T, in Input) *certificate.Certificate {
	t.Helper()
	c, err := Assemble(in)
	must(t, err)
	return c
}
