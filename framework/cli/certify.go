package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/deploy/images"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/certify"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/suites/mutants/upgrade"
)

// certifyFlags are the flags of `holdfast certify`.
type certifyFlags struct {
	run.Options
	provider, from, to, plant, app string
	profiles                       []string
	running                        runningFlags
}

// certifyCommand is the command `holdfast certify`.
func certifyCommand(version string) *cobra.Command {
	var f certifyFlags
	cmd := &cobra.Command{
		Use:   "certify (--from VERSION --to VERSION | --context NAME --upgrade COMMAND)",
		Short: "Upgrade a cluster in place, under load, and certify what held throughout",
		Long: `certify creates a cluster with the version --from and upgrades it to --to as kubeadm documents it, node by node: the control plane
with etcd, CoreDNS and kube-proxy, then each worker (cordon, drain, kubeadm, new kubelet, Ready, uncordon). Requests of every kind
flow from before the first step until after the last. When the control plane is new and the workers are old, certify does a rolling
update and a drain. The scenarios of the profiles run on the same cluster before and after the upgrade.

With --app, a cluster with your application is upgraded in the same way first, while the requests of its probes flow. holdfast.yaml says
what is deployed and asked for, as with holdfast test. The certificate names the application, and what was seen of it, beside the profiles.

With --context and --upgrade, a cluster that is there already is upgraded by that command, which is recorded as with holdfast record, while the
requests of --url or of the probes of --app flow. Its steps, and what they did to the applications, are read from the record. An upgrade is
planned, so no request may fail, not even one to a container that is killed or to a node that is not drained. With --disturb, the
faults of --app (without any in the file: rollout, drain, delete-pod and scale) are done before and after it, as 'holdfast test --disturb' does them. What
was not tried, or what a rule of safety refuses, is listed, and the certificate is then partial at best, with exit code 5.

The result is a certificate, for machines (certificate.json, certificate.yaml) and for people (certificate.html). 'holdfast diff'
compares two certificates. The container runtime and the rest of the node image are not upgraded.

Exit codes: 0 every requested profile is certified; 1 a promise was violated, or the upgrade failed; 3 the harness failed before
anything could be judged; 4 the command line is wrong, or Kubernetes does not support the upgrade; 5 evidence is missing; 130 and 143
the certification was interrupted.`,
		Example: `  holdfast certify --from v1.36.3 --to v1.37.0
  holdfast certify --from v1.36.3 --to v1.37.0 --profile core,extended
  holdfast certify --from v1.36.3 --to v1.37.0 --app suites/apps/nginx-careful
  holdfast certify --context staging -n shop --url https://shop.example.com/ --upgrade ./upgrade.sh
  holdfast certify --context c --app shop.yaml --disturb --holdfast-image reg/hf:1 --upgrade ./up.sh
  holdfast diff artifacts/20261121-203000 artifacts/20261122-203000`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.running.upgrade != "" {
				if err := f.running.validate(f, cmd.Flags()); err != nil {
					return exit.Usage(err)
				}
				return f.running.certify(cmd, version, f)
			}
			if err := f.running.without(cmd.Flags()); err != nil {
				return exit.Usage(err)
			}
			profiles, err := f.validate()
			if err != nil {
				return exit.Usage(err)
			}
			return f.run(cmd, version, profiles)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.provider, providerFlag, "kind", "what creates the cluster")
	flags.StringVar(&f.from, "from", "", "version of the new cluster, such as v1.36.3")
	flags.StringVar(&f.to, "to", "", "version to upgrade it to, such as v1.37.0")
	flags.StringSliceVar(&f.profiles, "profile", []string{"core"}, "what to certify: core (about five minutes before and after the upgrade), extended, or both")
	flags.StringVar((*string)(&f.Profile), "timings", string(clusters.Stock), "stock: Kubernetes' own; or lab, which detects a lost node in seconds, and may mark every node lost while the API server restarts")
	flags.StringVar((*string)(&f.ProxyMode), "proxy-mode", "", proxyModeHelp)
	flags.StringVar(&f.Artifacts, "artifacts", "artifacts", "folder for the record and the certificate")
	flags.Uint64Var(&f.Seed, "seed", 0, "seed of all random choices; default: a new one, which the certificate names")
	flags.StringVar(&f.plant, "plant", "", "break the upgrade on purpose, to show that the certificate catches it: "+strings.Join(upgrade.Names(), ", "))
	flags.StringVar(&f.app, "app", "", "holdfast.yaml, or its folder, of an application that the upgrade is to be invisible to")
	f.running.add(cmd)
	flags.BoolVar(&f.Keep, "keep", false, "keep the cluster; a cluster whose upgrade failed stays as it was then")
	flags.BoolVar(&f.KeepLogs, "keep-logs", false, "keep node and pod logs also of scenarios that held")
	return cmd
}

// validate returns the requested profiles.
func (f certifyFlags) validate() ([]scenario.Profile, error) {
	if f.from == "" || f.to == "" {
		return nil, errors.New("certify: want --from and --to, such as --from v1.36.3 --to v1.37.0; 'holdfast image versions' lists the versions")
	}
	if err := clusters.CheckUpgrade(f.from, f.to); err != nil {
		return nil, err
	}
	spec := clusters.Spec{Zones: []string{"a"}, Profile: f.Profile, ProxyMode: f.ProxyMode}
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if _, err := f.planted(); err != nil {
		return nil, err
	}
	return scenario.FindProfiles(scenario.Profiles, f.profiles)
}

// planted is the regression that --plant names; the zero Regression without the flag.
func (f certifyFlags) planted() (upgrade.Regression, error) {
	if f.plant == "" {
		return upgrade.Regression{}, nil
	}
	return upgrade.Find(f.plant)
}

func (f certifyFlags) run(cmd *cobra.Command, version string, profiles []scenario.Profile) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	broken, err := f.planted()
	if err != nil {
		return err
	}
	spec, err := broken.Upgrade(f.to)
	if err != nil {
		return err
	}
	plan := certify.NewPlan(profiles, spec, broken.Workload, f.Profile == clusters.Stock)
	if f.app != "" {
		if plan.Application, err = application(ctx, f.app, f.from, spec, cmd.ErrOrStderr()); err != nil {
			return exit.Unread(err)
		}
	}
	progress := progress.New(out, plan.Runs())
	remove, err := images.Prepare(ctx, plan.Apps(), progress.Say, out)
	if err != nil {
		return err
	}
	defer remove()
	p, err := providerNamed(ctx, f.provider, out, progress.Say)
	if err != nil {
		return err
	}
	// A version that is not available must fail before anything runs.
	from, err := p.Release(ctx, f.from)
	if err != nil {
		return err
	}
	to, err := p.Release(ctx, f.to)
	if err != nil {
		return err
	}
	// As with kubeadm, a controller that cannot renew its lease must restart with fresh node heartbeats, and not mark every node lost: LeaderElection.
	f.Scope, f.LeaderElection = "full", true
	base, err := launch.Settings(ctx, f.Options, launch.Tools{Version: version, Out: out, Provider: p, Progress: progress})
	if err != nil {
		return err
	}
	base.Reproduce = f.runAgain(cmd, base.Seed)
	sayTo(out)("certify %s: %s to %s, about %s\n", base.RunID, f.from, f.to, plan.About())
	c := &certify.Certification{
		Plan: plan, From: from, To: to, Settings: base, Planted: f.plant, Engine: p.Engine, Reproduce: certifyAgain(cmd, base.Seed), KeepBroken: f.Keep,
		Ended: func(part string, file runfolder.File) error {
			_, err := fmt.Fprintf(out, "\n%s: %s\n\n", part, summaryOf(file))
			return err
		},
	}
	doc, violated, err := c.Run(ctx)
	return exit.Besides(certified(doc, violated), err, printCertificate(out, base.Dir, doc, err))
}

// printCertificate prints what is certified, why the rest is not, and where the page is unless writing it failed.
func printCertificate(out io.Writer, dir string, doc *certificate.Certificate, failed error) error {
	if doc == nil {
		return nil
	}
	var b strings.Builder
	for _, p := range doc.Profiles {
		fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Result)
	}
	if a := doc.Application; a != nil {
		fmt.Fprintf(&b, "application %s: %s\n", a.Name, a.Result)
	}
	for _, why := range doc.Reasons {
		fmt.Fprintf(&b, "  %s\n", why)
	}
	if failed == nil {
		fmt.Fprintf(&b, "certificate: %s\n", filepath.Join(dir, certificate.HTMLFile))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// certified is the error with the exit code of a certification. Violated also counts if there is no certificate, or the certificate
// lacks the broken promise.
func certified(doc *certificate.Certificate, violated bool) error {
	switch {
	case doc != nil && certify.Broken(doc):
		return exit.With(exit.Violated, errors.New("not certified: see the reasons above"))
	case violated:
		return exit.Judged(verdict.Violated)
	case doc == nil || doc.Result == certificate.Certified:
		return nil
	}
	return exit.With(exit.Unknown, errors.New("not certified: evidence is missing, see the reasons above"))
}

// runAgain returns the command that runs one scenario of a certification again, or without a name all of it.
func (f certifyFlags) runAgain(cmd *cobra.Command, seed uint64) func(name, kubernetes string) string {
	return func(name, kubernetes string) string {
		if name == "" {
			return certifyAgain(cmd, seed)
		}
		others := []string{"--seed", fmt.Sprint(seed), "--timings", string(f.Profile)} // whose default is another one there
		if kubernetes != "" {
			others = append(others, "--kubernetes", kubernetes)
		}
		return againCommand([]string{"holdfast", "run", name}, cmd.Flags(), []string{"from", "to", "profile", "plant", "app"}, others...)
	}
}

// certifyAgain is the command that certifies the same again.
func certifyAgain(cmd *cobra.Command, seed uint64) string {
	return againCommand([]string{"holdfast", "certify"}, cmd.Flags(), nil, "--seed", fmt.Sprint(seed))
}

// application reads the application of a certification from its file, or from the file in its folder. Charts are rendered for the version that the
// upgrade begins with.
func application(ctx context.Context, path, from string, upgrade scenario.Spec, out io.Writer) (*certify.Application, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, appfile.Name)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("read the application: %w: 'holdfast init' writes such a file", err)
	}
	choice := appfile.Choice{File: path, Helm: manifests.Helm{Out: out, Kubernetes: from}}
	test, err := choice.Test(ctx)
	if err != nil {
		return nil, err
	}
	spec, err := test.Upgrade(certify.ApplicationScenario, upgrade)
	if err != nil {
		return nil, err
	}
	about := certificate.Application{Name: test.App.Namespace, Source: path, Digest: test.Digest(), Images: test.App.Images(), Notes: test.App.Notes}
	for _, p := range test.Probes {
		about.Probes = append(about.Probes, certificate.ApplicationProbe{Name: p.Name, URL: p.URL, Rate: cmp.Or(p.Rate, apptest.DefaultRate)})
	}
	return &certify.Application{Application: about, Upgrade: spec}, nil
}
