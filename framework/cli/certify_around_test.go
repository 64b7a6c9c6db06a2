package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/run/recording"
	"github.com/holdfast-ha/holdfast/framework/run/session"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
	"github.com/holdfast-ha/holdfast/reports"
)

// planned is a session with a plan for workloads web and api.
func planned(t *testing.T, a *around, faults []string, refuse map[string]string) *session.Session {
	t.Helper()
	var err error
	if a.options.Intent.Request.Faults, err = catalogue.Named(faults); err != nil {
		t.Fatal(err)
	}
	s := &session.Session{}
	for _, workload := range []string{"web", "api"} {
		for _, fault := range faults {
			step := disturb.Step{Fault: fault, Does: fault, Workload: disturb.Object{Kind: disturb.KindDeployment, Namespace: "shop", Name: workload}}
			if why := refuse[fault+" "+workload]; why != "" {
				step.Refusals = []disturb.Refusal{{Rule: 10, Object: step.Workload, Reason: why}}
			}
			s.Plan.Steps = append(s.Plan.Steps, step)
		}
	}
	return s
}

// A fault that a rule refuses in one workload is tried in none, and the certificate says why. Nothing that is refused is asked for again.
func TestDecide(t *testing.T) {
	a := &around{refused: map[string]string{}}
	a.decide(planned(t, a, []string{"rollout", "drain"}, map[string]string{"drain api": "it has one replica"}))
	var names []string
	for _, f := range a.features {
		names = append(names, f.Name)
		for _, s := range f.Scenarios {
			names = append(names, s.Name)
		}
	}
	if diff := cmp.Diff([]string{"Rollout", "app/rollout-web", "app/rollout-api", "Drain", "app/drain-web", "app/drain-api"}, names); diff != "" {
		t.Errorf("features (-want +got):\n%s", diff)
	}
	const why = "Deployment shop/api: it has one replica (rule 10)"
	if diff := cmp.Diff(map[string]string{"app/drain-web": why, "app/drain-api": why}, a.refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if len(a.allowed) != 1 || a.allowed[0].Name != "rollout" {
		t.Errorf("allowed %v", a.allowed)
	}
}

// Each fault has a name in a certificate.
func TestEachFaultIsAFeature(t *testing.T) {
	for _, name := range catalogue.Names() {
		if featureOf(name).Name == "" {
			t.Errorf("%s has no feature", name)
		}
	}
}

// What refuses the whole plan refuses each fault.
func TestDecideOnNothing(t *testing.T) {
	a := &around{refused: map[string]string{}}
	s := planned(t, a, []string{"rollout", "scale"}, nil)
	s.Plan.Refusals = []disturb.Refusal{{Rule: 3, Object: disturb.Object{Kind: disturb.KindNamespace, Name: "shop"}, Reason: "it lacks the label"}}
	a.decide(s)
	if len(a.allowed) != 0 || len(a.refused) != 4 || reasons(s.Plan) != "Namespace shop: it lacks the label (rule 3)" {
		t.Errorf("allowed %v, refused %v, %s", a.allowed, a.refused, reasons(s.Plan))
	}
	if reasons(disturb.Plan{}) == "" {
		t.Error("a plan without steps goes")
	}
}

// What the rules refuse after the upgrade was not tried, and is Unknown in the certificate, never Held.
func TestWhatCouldNotBeTriedIsUnknown(t *testing.T) {
	a := &around{refused: map[string]string{}}
	a.decide(planned(t, a, []string{"rollout", "drain"}, map[string]string{"drain api": "it has one replica"}))
	dir := t.TempDir()
	file, err := a.untried(recording.Run{ID: "c1", Dir: dir}, errors.New("node n1 is not Ready (rule 13)"))
	if err != nil || len(file.Scenarios) != 2 {
		t.Fatalf("%+v, %v", file, err)
	}
	report, err := reports.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range report.Scenarios {
		if s.Result == reports.Held || !strings.Contains(s.Why, "it was not begun: node n1 is not Ready (rule 13)") {
			t.Errorf("%s: %s, %s", s.Name, s.Result, s.Why)
		}
	}
}

// To disturb a cluster needs a file that names it, and an image for the healer. Without an upgrade nothing is disturbed.
func TestDisturbAroundAnUpgrade(t *testing.T) {
	for args, want := range map[string]string{
		"--context c --upgrade ./up.sh --url http://a/ --disturb --holdfast-image r/hf:1":      "--disturb without --app",
		"--context c --upgrade ./up.sh --app shop.yaml --disturb":                              "needs an image of this holdfast",
		"--context c --upgrade ./up.sh --app shop.yaml --holdfast-image r/hf:1":                "--holdfast-image without --disturb",
		"--kubeconfig k --upgrade ./up.sh --app shop.yaml --disturb --holdfast-image r/hf:1":   "name it with --context",
		"--context c --upgrade ./up.sh --app shop.yaml --disturb --holdfast-image r/hf:1":      "",
		"--context c --upgrade ./up.sh --app shop.yaml":                                        "",
		"--context c --upgrade ./up.sh --app s --disturb --holdfast-image r/hf:1 --recover 0s": "want a time",
	} {
		var f certifyFlags
		cmd := &cobra.Command{}
		cmd.Flags().StringVar(&f.app, "app", "", "")
		f.running.add(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		err := f.running.validate(f, cmd.Flags())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	var f runningFlags
	cmd := &cobra.Command{}
	f.add(cmd)
	if err := cmd.ParseFlags([]string{"--disturb"}); err != nil {
		t.Fatal(err)
	}
	if err := f.without(cmd.Flags()); err == nil || !strings.Contains(err.Error(), "--disturb without a command in --upgrade") {
		t.Errorf("without an upgrade: %v", err)
	}
}
