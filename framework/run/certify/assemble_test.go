package certify

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

var (
	violated = found{outcome: verdict.Violated}
	unknown  = found{outcome: verdict.Unknown}
	never    = found{}
)

// results are the words of a certificate: of the whole, of each profile, and of each feature.
func results(c *certificate.Certificate) string {
	text := string(c.Result) + " ="
	for _, p := range c.Profiles {
		text += " " + p.Name + ": " + string(p.Result) + " ("
		for i, f := range p.Features {
			if i > 0 {
				text += ", "
			}
			text += string(f.Result)
		}
		text += ")"
	}
	return text
}

// What is certified, and the words for what is not.
func TestResults(t *testing.T) {
	const (
		good    = "certified = Core: certified (certified, certified) Extended: certified (certified)"
		refused = "not certified = Core: not certified (certified, certified) Extended: not certified (certified)"
		drain   = "not certified = Core: not certified (not certified, certified) Extended: certified (certified)"
	)
	for name, test := range map[string]struct {
		sides   sides
		in      func(*testing.T, *Input)
		want    string
		reasons []string // parts of them, in order; all there are
		broken  bool
	}{
		"all held": {want: good},
		"violated after": {
			sides: sides{after: map[string]found{"chaos/drain": violated}}, want: drain, broken: true,
			reasons: []string{`drain, chaos/drain: held on v1.36.3, but was Violated on v1.37.0: the promise "no request fails, on any lane" ` +
				"was broken: 21 of 600 requests failed, the first at 18s; cause: late-withdrawal (sent to a pod that had stopped listening"},
		},
		"violated before and after": {
			sides: sides{before: map[string]found{"chaos/drain": violated}, after: map[string]found{"chaos/drain": violated}},
			want:  drain, broken: true, reasons: []string{"Violated before the upgrade too, so the upgrade is not the cause: "},
		},
		"violated before": {
			sides: sides{before: map[string]found{"chaos/drain": violated}}, want: drain, broken: true,
			reasons: []string{"Violated on v1.36.3, before the upgrade, but held on v1.37.0: "},
		},
		"violated after, and nothing is known of before": {
			sides: sides{before: map[string]found{"chaos/drain": unknown}, after: map[string]found{"chaos/drain": violated}},
			want:  drain, broken: true,
			reasons: []string{"Violated on v1.37.0, and nothing is known about it on v1.36.3", "chaos/drain: Unknown before the upgrade: no verdict: the load worker"},
		},
		"violated before, and nothing is known of after": {
			sides: sides{before: map[string]found{"chaos/drain": violated}, after: map[string]found{"chaos/drain": unknown}},
			want:  drain, broken: true, reasons: []string{"Violated on v1.36.3, before the upgrade: ", "Unknown after the upgrade"},
		},
		"one of two scenarios unknown": {
			sides:   sides{after: map[string]found{"chaos/rollback": unknown}},
			want:    "partial = Core: partial (certified, unknown) Extended: certified (certified)",
			reasons: []string{"rollout, chaos/rollback: Unknown after the upgrade: no verdict: "},
		},
		"never begun": {
			sides:   sides{after: map[string]found{"chaos/rollback": never}},
			want:    "partial = Core: partial (certified, unknown) Extended: certified (certified)",
			reasons: []string{"rollout, chaos/rollback: Unknown after the upgrade: the run after the upgrade has no record of the scenario"},
		},
		"interrupted before it": {
			sides:   sides{after: map[string]found{"chaos/kill": {notBegun: "not begun: the run was interrupted"}}},
			want:    "partial = Core: certified (certified, certified) Extended: not certified (interrupted)",
			reasons: []string{"node kill, chaos/kill: after the upgrade: not begun: the run was interrupted"},
		},
		"interrupted in it": {
			sides:   sides{after: map[string]found{"chaos/kill": {interrupted: "interrupted in the phase steady"}}},
			want:    "partial = Core: certified (certified, certified) Extended: not certified (interrupted)",
			reasons: []string{"node kill, chaos/kill: after the upgrade: interrupted in the phase steady"},
		},
		"its record is lost": {
			sides:   sides{after: map[string]found{"chaos/kill": {outcome: verdict.Held, lost: true}}},
			want:    "partial = Core: certified (certified, certified) Extended: not certified (unknown)",
			reasons: []string{"node kill, chaos/kill: Unknown after the upgrade: the record is incomplete"},
		},
		"its record is cut off": {
			sides: sides{after: map[string]found{"chaos/kill": {
				outcome: verdict.Held, record: light("chaos/kill", to).Incomplete("killed"),
			}}},
			want:    "partial = Core: certified (certified, certified) Extended: not certified (unknown)",
			reasons: []string{"node kill, chaos/kill: Unknown after the upgrade: the record is incomplete"},
		},
		"not upgraded": {
			sides: sides{after: map[string]found{"chaos/kill": {
				outcome: verdict.Held, record: light("chaos/kill", from),
			}}},
			want:    "partial = Core: certified (certified, certified) Extended: not certified (unknown)",
			reasons: []string{"chaos/kill: Unknown after the upgrade: its record says that the cluster ran v1.36.3, not v1.37.0"},
		},
		"a caught mutant": { // what is broken on purpose certifies nothing
			sides: sides{after: map[string]found{"chaos/drain": {outcome: verdict.Violated, mutant: true}}}, want: drain, broken: true,
			reasons: []string{"drain, chaos/drain: held on v1.36.3, but was Violated on v1.37.0"},
		},
		"skipped": {
			sides:   sides{before: map[string]found{"chaos/kill": never}, after: map[string]found{"chaos/kill": never}},
			in:      func(_ *testing.T, in *Input) { in.Skipped = map[string]string{"chaos/kill": "--profile Core"} },
			want:    "partial = Core: certified (certified, certified) Extended: not certified (skipped)",
			reasons: []string{"node kill, chaos/kill: skipped: --profile Core"},
		},
		"skipped on one side": {
			sides:   sides{after: map[string]found{"chaos/kill": never}},
			in:      func(_ *testing.T, in *Input) { in.Skipped = map[string]string{"chaos/kill": "--profile Core"} },
			want:    "partial = Core: certified (certified, certified) Extended: not certified (skipped)",
			reasons: []string{"node kill, chaos/kill: skipped: --profile Core"},
		},
		"not supported": {
			sides: sides{
				before: map[string]found{"chaos/rollback": {notSupported: "Specified qdisc kind is unknown here"}},
				after:  map[string]found{"chaos/rollback": {notSupported: "Specified qdisc kind is unknown here"}},
			},
			want:    "partial = Core: partial (certified, partial) Extended: certified (certified)",
			reasons: []string{"rollout, chaos/rollback: not supported: Specified qdisc kind is unknown here"},
		},
		"nothing was measured": {
			in: func(_ *testing.T, in *Input) {
				in.Profiles = []scenario.Profile{{Name: "Core", Features: []scenario.Feature{{Name: "latency", Scenarios: []scenario.Spec{{Name: "chaos/netem"}}}}}}
				in.Skipped = map[string]string{"chaos/netem": "no time"}
			},
			want:    "not certified = Core: not certified (skipped)",
			reasons: []string{"latency, chaos/netem: skipped: no time"},
		},
		"the upgrade broke a promise": {
			sides: sides{upgrade: violated}, want: refused, broken: true,
			reasons: []string{`during the upgrade: the promise "no request fails, on any lane" was broken: 21 of 600 requests failed, the first ` +
				"at 18s; cause: late-withdrawal"},
		},
		"nothing is known of the upgrade": {
			sides: sides{upgrade: unknown}, want: refused,
			reasons: []string{"nothing is known about the upgrade itself: no verdict: the load worker stood still"},
		},
		"an upgrade without steps": {
			sides: sides{upgrade: found{outcome: verdict.Held, record: light(UpgradeScenario, to)}}, want: refused,
			reasons: []string{"nothing is known about the upgrade itself: its record has no step of the upgrade"},
		},
		"an upgrade without load": {
			sides: sides{upgrade: found{outcome: verdict.Held, record: upgraded().DropRequests(func(history.Request) bool { return true })}},
			want:  refused, reasons: []string{"nothing is known about the upgrade itself: no request was sent during the upgrade"},
		},
		"an upgrade that stopped": {
			in: func(_ *testing.T, in *Input) {
				in.Failure = &certificate.Failure{Step: "drain", Node: "w3", Why: `evict backend-1: failed calling webhook "guard.example.com": no endpoints`}
			},
			want: refused, broken: true,
			reasons: []string{`the upgrade stopped at "drain" on w3: evict backend-1: failed calling webhook "guard.example.com": no endpoints; ` +
				"cause: webhook-unreachable (an admission webhook"},
		},
		"a step that failed": {
			sides: sides{upgrade: found{outcome: verdict.Held, record: upgraded().Step(32*sec, history.Step{
				ID: 9, What: "drain", Node: "w2", Stage: history.StepEnd, Error: "Cannot evict pod as it would violate the pod's disruption budget.",
			})}},
			want: refused, broken: true, reasons: []string{`the upgrade stopped at "drain" on w2: Cannot evict pod`},
		},
		"a step that never ended": {
			sides: sides{upgrade: found{outcome: verdict.Held, record: upgraded().Step(32*sec, history.Step{
				ID: 9, What: "Ready", Node: "w2", Stage: history.StepBegin,
			})}},
			want: refused, broken: true, reasons: []string{`the upgrade stopped at "Ready" on w2: its end was never recorded`},
		},
		"no run after": {
			in:      func(_ *testing.T, in *Input) { in.After = "" },
			want:    "not certified = Core: not certified (unknown, unknown) Extended: not certified (unknown)",
			reasons: []string{"the run after the upgrade proves nothing: there is none"},
		},
		"no run of the upgrade": {
			in:   func(_ *testing.T, in *Input) { in.Upgrade = filepath.Join(in.Dir, "none") },
			want: refused, reasons: []string{"the run of the upgrade proves nothing: it was not begun", "nothing is known about the upgrade itself: the run of the upgrade has no record"},
		},
		"a run that was killed": {
			in: func(t *testing.T, in *Input) {
				file, err := runfolder.ReadFile(in.After)
				must(t, err)
				file.Ended = time.Time{}
				must(t, file.Write(in.After))
			},
			want: refused, reasons: []string{"the run after the upgrade proves nothing: the run did not end"},
		},
		"a run.json that was changed": {
			in: func(t *testing.T, in *Input) {
				must(t, os.WriteFile(filepath.Join(in.Before, runfolder.FileName), []byte("{}"), 0o600))
			},
			want: "not certified = Core: not certified (unknown, unknown) Extended: not certified (unknown)",
			reasons: []string{
				"the run before the upgrade proves nothing: ", "drain, chaos/drain: Unknown before the upgrade: it was not judged",
				"chaos/rollout: Unknown", "chaos/rollback: Unknown", "chaos/kill: Unknown",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(t, test.sides)
			if test.in != nil {
				test.in(t, &in)
			}
			c := assemble(t, in)
			if got := results(c); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
			if len(c.Reasons) != len(test.reasons) || Broken(c) != test.broken {
				t.Errorf("broken: %v, %d reasons, want %v and %d:\n%s", Broken(c), len(c.Reasons), test.broken, len(test.reasons), strings.Join(c.Reasons, "\n"))
				return
			}
			for i, part := range test.reasons {
				if !strings.Contains(c.Reasons[i], part) {
					t.Errorf("reason %q, want %q in it", c.Reasons[i], part)
				}
			}
		})
	}
}

// What was left out, and what cannot be done here, is listed by name.
func TestNotTriedIsListed(t *testing.T) {
	in := input(t, sides{
		before: map[string]found{"chaos/kill": never, "chaos/drain": {notSupported: "Specified qdisc kind is unknown here"}},
		after:  map[string]found{"chaos/kill": never, "chaos/drain": {notSupported: "Specified qdisc kind is unknown here"}},
	})
	in.Skipped = map[string]string{"chaos/kill": "no time"}
	c := assemble(t, in)
	if diff := cmp.Diff([][]certificate.NotTried{{{Name: "chaos/kill", Why: "no time"}}, {{Name: "chaos/drain", Why: "Specified qdisc kind is unknown here"}}}, [][]certificate.NotTried{c.Skipped, c.NotSupported}); diff != "" {
		t.Errorf("skipped and not supported (-want +got):\n%s", diff)
	}
}

// Two runs of the same thing say the same, whatever their numbers are.
func TestTheSameAgainIsTheSame(t *testing.T) {
	slow := light("chaos/drain", to).EditRequests(func(r *history.Request) { r.Done += 900_000_000 })
	first := assemble(t, input(t, sides{}))
	again := assemble(t, input(t, sides{after: map[string]found{"chaos/drain": {outcome: verdict.Held, record: slow}}}))
	if results(first) != results(again) || len(again.Reasons) > 0 {
		t.Errorf("%s\n%s\n%q", results(first), results(again), again.Reasons)
	}
	want := []certificate.Difference{{What: "p99", Before: "2 ms", After: "902 ms", Worse: true}}
	if diff := cmp.Diff(want, scenarioOf(again, "chaos/drain").Differences); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestTheUpgrade(t *testing.T) {
	in := input(t, sides{upgrade: found{outcome: verdict.Violated, record: failing(upgraded()).
		Gap("pods", 20*sec, 21*sec).Eviction(18*sec, history.Eviction{Pod: "backend-2", Budget: "backend"})}})
	u := assemble(t, in).Upgrade
	want := []certificate.Step{
		{ID: 0, What: "kubeadm upgrade apply", Node: "control-plane", From: from, To: to, BeganSeconds: 15.5, TookSeconds: 0.5, Result: certificate.StepDone, Requests: 10},
		{ID: 1, What: "drain", Node: "w1", From: from, To: to, BeganSeconds: 16, TookSeconds: 6, Result: certificate.StepDone, Requests: 120, Failed: 20},
		{ID: 2, What: "swap kubelet", Node: "w1", From: from, To: to, BeganSeconds: 22, TookSeconds: 7, Result: certificate.StepDone, Requests: 140},
		{ID: 3, What: "uncordon", Node: "w1", From: from, To: to, BeganSeconds: 29, TookSeconds: 2, Result: certificate.StepDone, Requests: 40},
	}
	if diff := cmp.Diff(want, u.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]certificate.Budget{{
		Namespace: historytest.Namespace, Name: historytest.Deployment, MaxUnavailable: "1", LeastHealthy: 5, DesiredHealthy: 5,
	}}, u.Budgets); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
	if u.Evictions != (certificate.Evictions{Accepted: 1, Refused: 1}) || len(u.WatchGaps) != 1 || u.WatchGaps[0].FromSeconds != 20 || u.Record != "upgrade/"+UpgradeScenario {
		t.Errorf("evictions %+v, gaps %+v, record %q", u.Evictions, u.WatchGaps, u.Record)
	}
	if u.Requests != 600 || u.Failed != 20 || u.Disruptions.Total() != 1 || u.Lanes[0].Failed != 20 || u.TookSeconds < 40 {
		t.Errorf("%d requests, %d failed, %+v, lanes %+v, took %v", u.Requests, u.Failed, u.Disruptions, u.Lanes, u.TookSeconds)
	}
}

// A reader of the reasons learns where to look.
func TestTheReasonNamesTheStep(t *testing.T) {
	c := assemble(t, input(t, sides{upgrade: violated}))
	if want := `; 20 failed during "drain" on w1`; len(c.Reasons) != 1 || !strings.HasSuffix(c.Reasons[0], want) {
		t.Errorf("%q, want one that ends with %q", c.Reasons, want)
	}
}

func TestAssembleRefusesNothingToCertify(t *testing.T) {
	if _, err := Assemble(Input{}); err == nil || !strings.Contains(err.Error(), "no profiles") {
		t.Errorf("error %v", err)
	}
}

// Without any of the three runs there is a certificate all the same: it certifies nothing.
func TestAssembleOfNothing(t *testing.T) {
	c := assemble(t, Input{Profiles: profiles()})
	if c.Result != certificate.NotCertified || len(c.Reasons) == 0 || Broken(c) {
		t.Errorf("%s, broken %v, %q", results(c), Broken(c), c.Reasons)
	}
}

// TestGoldenCertificate: the certificate of a run with something in every field. The forms of the certificate are written from the golden one.
func TestGoldenCertificate(t *testing.T) {
	in := input(t, sides{
		after:   map[string]found{"chaos/drain": violated, "chaos/rollback": unknown, "chaos/kill": {notSupported: "Specified qdisc kind is unknown here"}},
		upgrade: found{outcome: verdict.Violated, record: failing(upgraded()).Gap("pods", 20*sec, 21*sec)},
	})
	in.Application, in.ApplicationRun = shop(), filepath.Join(in.Dir, "application")
	stored(t, in.ApplicationRun, from, found{name: ApplicationScenario, outcome: verdict.Violated, record: failing(ofShop(upgraded()))})
	in.Planted = "endpoints are removed late by kube-proxy"
	in.Failure = &certificate.Failure{Step: "drain", Node: "w3", Why: `failed calling webhook "guard.example.com"`}
	in.Deprecations = []certificate.Deprecation{{Object: "Endpoints backend", API: "v1", Message: "v1 Endpoints is deprecated in v1.33+", After: true}}
	for name, c := range map[string]*certificate.Certificate{golden: assemble(t, in), "": assemble(t, Input{Profiles: profiles()})} {
		var got bytes.Buffer
		must(t, reports.WriteJSON(&got, c))
		if strings.Contains(got.String(), "null") {
			t.Errorf("null in\n%s", &got) // a list is never null
		}
		if name == "" {
			continue
		}
		if *rewrite {
			must(t, os.WriteFile(name, got.Bytes(), 0o644))
		}
		want, err := os.ReadFile(name)
		must(t, err)
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got), rewrite with -update:\n%s", name, diff)
		}
	}
}

const golden = "../../../reports/certificate/testdata/certificate.json"

var rewrite = flag.Bool("rewrite", false, "write the golden certificate again")
