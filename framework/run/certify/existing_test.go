package certify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// recordedUpgradeOf is a recording of a drain, around a command, in which the API server and the nodes change their versions.
func recordedUpgradeOf(server, kubelets string, commandError string) *historytest.Builder {
	b := light(UpgradeScenario, from).AsRecording("ns/backend").Header(func(h *history.Header) { h.Recorded.Command = []string{"./upgrade.sh"} })
	b.EditEvents(func(e *history.Event) {
		if e.Node != nil && e.Node.Change == history.Listed {
			e.Node.Kubelet = from
		}
	})
	b.Event(history.Event{T: 1, Server: &history.Server{Version: from}}).Event(history.Event{T: 20 * sec, Server: &history.Server{Version: server}})
	for _, node := range historytest.Healthy().Run().StateAt(50 * sec).Nodes {
		node.Kubelet, node.Change = kubelets, history.Modified
		b.Node(38*sec, node)
	}
	step := history.Step{What: history.CommandStep, Stage: history.StepBegin}
	b.Step(15500*1e6, step)
	step.Stage, step.Error = history.StepEnd, commandError
	return b.Step(35*sec, step)
}

// upgradeOfExisting is a certification whose runs are stored beforehand.
type upgradeOfExisting struct {
	outcome verdict.Outcome // of the recording
	record  *historytest.Builder
	before  verdict.Outcome // of the scenario, if it is allowed
	refused bool
	err     error
}

func (u upgradeOfExisting) certify(t *testing.T) (doc *certificate.Certificate, broken bool, upgraded bool, err error) {
	t.Helper()
	c := &Existing{
		Dir: t.TempDir(), ID: "c1", Cluster: certificate.Cluster{Name: "staging", Command: "./upgrade.sh", Namespaces: []string{"shop"}},
		Features: []scenario.Feature{{Name: "drain", Scenarios: []scenario.Spec{{Name: "app/drain", Claim: "a drain is invisible"}}}},
		Refused:  map[string]string{}, Ended: func(string, runfolder.File) error { return nil },
	}
	if u.refused {
		c.Refused["app/drain"] = "the namespace lacks the label holdfast.dev/disturb"
	}
	c.Disturb = func(_ context.Context, part, dir string) (runfolder.File, error) {
		outcome, version := verdict.Held, to
		if part == beforeRun {
			outcome, version = u.before, from
		}
		stored(t, dir, version, found{name: "app/drain", outcome: outcome})
		return runfolder.ReadFile(dir)
	}
	c.Upgrade = func(_ context.Context, dir string) (runfolder.File, error) {
		upgraded = true
		stored(t, dir, from, found{name: UpgradeScenario, outcome: u.outcome, record: u.record})
		file, err := runfolder.ReadFile(dir)
		return file, errors.Join(u.err, err)
	}
	doc, broken, err = c.Run(t.Context())
	if err == nil {
		if _, readErr := certificate.Read(c.Dir); readErr != nil {
			t.Error(readErr)
		}
		if _, statErr := os.Stat(filepath.Join(c.Dir, certificate.HTMLFile)); statErr != nil {
			t.Error(statErr)
		}
	}
	return doc, broken, upgraded, err
}

// What is certified of an upgrade that others made, and why the rest is not.
func TestUpgradesOfExistingClusters(t *testing.T) {
	whole := func() *historytest.Builder { return recordedUpgradeOf(to, to, "") }
	for name, test := range map[string]struct {
		upgradeOfExisting
		want   certificate.Result
		broken bool
		reason string
	}{
		"all held": {upgradeOfExisting{outcome: verdict.Held, record: whole(), before: verdict.Held}, certificate.Certified, false, ""},
		"nothing may be disturbed": {upgradeOfExisting{outcome: verdict.Held, record: whole(), refused: true}, certificate.Partial, false,
			"drain, app/drain: skipped: the namespace lacks the label"},
		"requests failed": {upgradeOfExisting{outcome: verdict.Violated, record: failing(whole()), refused: true}, certificate.NotCertified, true,
			`during the upgrade: the promise "no request fails, on any lane" was broken`},
		"the command failed": {upgradeOfExisting{outcome: verdict.Held, record: recordedUpgradeOf(to, to, "upgrade.sh: exit status 1"), refused: true}, certificate.NotCertified, true,
			`the upgrade stopped at "command": upgrade.sh: exit status 1`},
		"nothing was upgraded": {upgradeOfExisting{outcome: verdict.Held, record: recordedUpgradeOf(from, from, ""), refused: true}, certificate.NotCertified, false,
			"the API server ran v1.36.3 before and after it: nothing was upgraded"},
		"the nodes were not": {upgradeOfExisting{outcome: verdict.Held, record: recordedUpgradeOf(to, from, ""), refused: true}, certificate.NotCertified, false,
			"the upgrade of the nodes is not complete"},
		"nothing is known of it": {upgradeOfExisting{outcome: verdict.Unknown, record: whole(), refused: true}, certificate.NotCertified, false,
			"nothing is known about the upgrade itself"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, broken, upgraded, err := test.certify(t)
			if err != nil {
				t.Fatal(err)
			}
			if doc.Result != test.want || broken != test.broken || !upgraded || !strings.Contains(strings.Join(doc.Reasons, "\n"), test.reason) {
				t.Errorf("%s, broken %t, upgraded %t; want %s, %t\n%s", doc.Result, broken, upgraded, test.want, test.broken, strings.Join(doc.Reasons, "\n"))
			}
			if doc.Cluster == nil || doc.From.Kubernetes != from || len(doc.Upgrade.Steps) < 2 {
				t.Errorf("cluster %+v, from %s, steps %+v", doc.Cluster, doc.From.Kubernetes, doc.Upgrade.Steps)
			}
		})
	}
}

// What is broken already is not upgraded.
func TestABrokenClusterIsNotUpgraded(t *testing.T) {
	doc, broken, upgraded, err := upgradeOfExisting{before: verdict.Violated}.certify(t)
	if err != nil || upgraded || !broken || doc.Result != certificate.NotCertified {
		t.Errorf("upgraded %t, broken %t, %v, %+v", upgraded, broken, err, doc)
	}
}

// An error of the harness leaves a certificate of what there is.
func TestAnErrorLeavesACertificate(t *testing.T) {
	u := upgradeOfExisting{outcome: verdict.Held, record: recordedUpgradeOf(to, to, ""), refused: true, err: errors.New("the disk is full")}
	doc, _, _, err := u.certify(t)
	if err == nil || doc == nil {
		t.Errorf("%v, %+v", err, doc)
	}
}

func TestVersionsOf(t *testing.T) {
	v := VersionsOf(recordedUpgradeOf(to, to, "").Run())
	if v.From != from || v.To != to || v.incomplete() != "" {
		t.Errorf("%+v: %s", v, v.incomplete())
	}
	for want, v := range map[string]Versions{
		"does not say which version":                                    {},
		"nothing was upgraded":                                          {From: to, To: to},
		"it is not known what they run":                                 {From: from, To: to},
		"w1 and w3 still on v1.36.3 and w2 still on an unknown version": {From: from, To: to, Kubelets: map[string]string{"w1": from, "w2": "", "w3": from, "w4": to}},
	} {
		if got := v.incomplete(); !strings.Contains(got, want) {
			t.Errorf("%+v: %q, want %q", v, got, want)
		}
	}
}
