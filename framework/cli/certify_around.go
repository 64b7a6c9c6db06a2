package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/run/intent"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	"github.com/holdfast-ha/holdfast/framework/run/session"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
	"github.com/holdfast-ha/holdfast/framework/safety/reading"
	"github.com/holdfast-ha/holdfast/framework/safety/show"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// tried are the faults that a certification tries before and after the upgrade, unless the file names others.
var tried = []string{catalogue.Rollout.Name, catalogue.Drain.Name, catalogue.DeletePod.Name, catalogue.Scale.Name}

// featureOf is the feature of a certificate that a fault shows.
func featureOf(fault string, scenarios ...scenario.Spec) scenario.Feature {
	return scenario.Feature{Name: features[fault], Scenarios: scenarios}
}

// features are the names of features, by their faults.
var features = map[string]string{
	catalogue.Rollout.Name: "Rollout", catalogue.Drain.Name: "Drain", catalogue.DeletePod.Name: "Eviction", catalogue.Scale.Name: "Scaling",
	catalogue.Cordon.Name: "Cordon", catalogue.NodeKill.Name: "Loss of a node",
}

// notAsked are the features of a certification that disturbs nothing, and why none is tried.
func notAsked() (features []scenario.Feature, refused map[string]string) {
	refused = map[string]string{}
	for _, name := range tried {
		f, _ := catalogue.Named([]string{name})
		s := scenario.Spec{Name: session.Suite + "/" + name, Claim: f[0].Does + " is invisible to the clients of the application"}
		features = append(features, featureOf(name, s))
		refused[s.Name] = "only the upgrade was asked for, and nothing else was done to the cluster: --disturb tries it"
	}
	return features, refused
}

// around disturbs the application before and after the upgrade, as `holdfast test --disturb` does.
type around struct {
	options session.Options
	choice  appfile.Choice
	reader  reading.Reader
	asked   intent.Options
	out     io.Writer

	// features are the faults with a scenario for each workload, and refused says why scenarios are not tried, by name.
	features []scenario.Feature
	refused  map[string]string
	// allowed are the faults that are tried: no rule refuses them in any workload.
	allowed []catalogue.Fault
}

// around plans what is done before the upgrade, and shows it. It changes nothing.
func (f *runningFlags) around(ctx context.Context, access *existing.Access, own certifyFlags, out io.Writer) (*around, error) {
	file, err := appfile.Read(fileOf(own.app))
	if err != nil {
		return nil, exit.Usage(err)
	}
	reader, err := reading.New(access)
	if err != nil {
		return nil, err
	}
	a := &around{
		choice: appfile.Choice{File: fileOf(own.app), URLs: f.urls, Faults: file.Faults}, reader: reader, out: out, refused: map[string]string{},
		asked: intent.Options{Context: f.cluster.Context(), Disturb: true, Seed: own.Seed},
		// The requests come from where they come from during the upgrade, which drains the nodes on which load workers could be.
		options: session.Options{Access: access, Image: f.image, From: history.LoadOutside, Recover: f.recover, Out: out, Say: sayTo(out)},
	}
	if len(a.choice.Faults) == 0 {
		a.choice.Faults = tried
	}
	if len(f.namespaces) == 1 {
		a.choice.Namespace = f.namespaces[0]
	}
	s, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	switch is := a.options.Intent.Request.Namespace; {
	case len(f.namespaces) == 0:
		f.namespaces = []string{is}
	case !slices.Contains(f.namespaces, is):
		return nil, exit.Usage(fmt.Errorf("the application is in namespace %s, which is not recorded: name it with -n as well", is))
	}
	a.decide(s)
	return a, show.Of(s.Plan, s.Facts).Text(out)
}

// fileOf is the path of holdfast.yaml, of which a folder may be named.
func fileOf(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, appfile.Name)
	}
	return path
}

// open reads the cluster and the application as they are now, and plans. Faults that were refused before are not asked for again.
func (a *around) open(ctx context.Context) (*session.Session, error) {
	asked, err := intent.Read(ctx, a.choice, a.reader, a.asked)
	var unanswered *reading.UnansweredError
	switch {
	case errors.As(err, &unanswered):
		return nil, a.options.Access.Explain(err)
	case err != nil:
		return nil, exit.Unread(err)
	}
	if a.features != nil {
		asked.Request.Faults = a.allowed
	}
	a.options.Intent = asked
	return session.Open(ctx, a.options)
}

// decide finds the faults that may be tried. One that is refused in one workload is tried in none.
func (a *around) decide(s *session.Session) {
	a.features = []scenario.Feature{}
	for _, fault := range a.options.Intent.Request.Faults {
		var scenarios []scenario.Spec
		refusals := slices.Clone(s.Plan.Refusals)
		for _, step := range s.Plan.Steps {
			if step.Fault == fault.Name {
				scenarios = append(scenarios, scenario.Spec{Name: s.NameOf(step), Claim: session.ClaimOf(step)})
				refusals = append(refusals, step.Refusals...)
			}
		}
		if len(scenarios) == 0 { // a workload that could not be read has no steps
			scenarios = []scenario.Spec{{Name: session.Suite + "/" + fault.Name, Claim: fault.Does + " is invisible to the clients of the application"}}
		}
		a.features = append(a.features, featureOf(fault.Name, scenarios...))
		if len(refusals) == 0 {
			a.allowed = append(a.allowed, fault)
			continue
		}
		for _, one := range scenarios {
			a.refused[one.Name] = refused(refusals)
		}
	}
}

// refused are the reasons of some refusals, each once.
func refused(all []disturb.Refusal) string {
	var words []string
	for _, r := range all {
		if word := fmt.Sprintf("%s: %s (rule %d)", r.Object, r.Reason, r.Rule); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, "; ")
}

// run does what is allowed, and records it below a folder. Rules that refuse it for the moment, because nodes and workloads settle after an
// upgrade, and kubelets list their images once in a while, are given the time that a workload has to recover. What they refuse after that was not
// tried, and its outcome is Unknown.
func (a *around) run(ctx context.Context, identity recording.Run) (runfolder.File, error) {
	var s *session.Session
	said := ""
	waited := poll.Until(ctx, "the rules of safety to allow what they allowed before", a.options.Recover, func(ctx context.Context) (bool, string, error) {
		var err error
		if s, err = a.open(ctx); err != nil {
			return false, "", err
		}
		why := reasons(s.Plan)
		if why != "" && why != said {
			a.options.Say("waiting, because %s", why)
		}
		said = cmp.Or(why, said)
		return why == "", why, nil
	})
	if waited != nil {
		if ctx.Err() != nil {
			return runfolder.File{}, waited
		}
		return a.untried(identity, waited)
	}
	return s.Run(ctx, identity, self.CommandLine())
}

// reasons are why a plan is refused; empty: all of it goes.
func reasons(p disturb.Plan) string {
	all := slices.Clone(p.Refusals)
	for _, step := range p.Steps {
		all = append(all, step.Refusals...)
	}
	if p.Refused() && len(all) == 0 {
		return "no workload of the application is there"
	}
	return refused(all)
}

// untried is the run of a part in which nothing could be tried.
func (a *around) untried(identity recording.Run, why error) (runfolder.File, error) {
	file := identity.File("")
	file.Ended, file.Outcome = time.Now(), string(verdict.Unknown)
	for _, f := range a.features {
		for _, one := range f.Scenarios {
			if a.refused[one.Name] == "" {
				left := identity.Result(one.Name, one.Claim)
				left.Error, left.Outcome = "it was not begun: "+why.Error(), string(verdict.Unknown)
				file.Scenarios = append(file.Scenarios, left)
			}
		}
	}
	return file, file.Write(identity.Dir)
}
