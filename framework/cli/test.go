package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/appfile"
	"github.com/holdfast-ha/holdfast/framework/apptest"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// testFlags are the flags of `holdfast test`.
type testFlags struct {
	runFlags
	appfile.Choice
	fix    bool
	ablate bool
	times  int // each practice is taken away so often
}

func testCommand(version string) *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [FILE]",
		Short: "Test an application of your own while its pods and nodes are taken away",
		Long: `test reads what to test from holdfast.yaml, or from the given file, or from flags. It makes a cluster, deploys the manifests of an
application to it, sends requests to the URLs while pods and nodes are taken away, judges the record, and writes a report. It removes
everything that it created, also after Ctrl-C.

A URL names a Service of the application, as its clients in the cluster do: http://web/ or http://web.shop.svc:8080/health, or the host
of one of its Ingresses or HTTPRoutes, whose controller is among the manifests. Services of type LoadBalancer get addresses. Requests
are sent on new connections and on reused ones. Status 200 is a good answer. Every other answer counts as a failure, and so does every
request that the client's library sends a second time without telling. If a request fails before anything is disturbed, the test ends.

If a promise is broken, the report names the cause, and the patch that takes it away if there is one. With --fix the patch is applied
to the copy in the cluster, and the same is done again: cured, or not.

With --ablate, the good practices in the manifests are taken away one by one, each under the fault that it is for: preStop hook, probes,
strategy, grace period, spread constraints, affinity, replicas, disruption budget. The table at the end says what happened without each.
It is advice, and never a failure.

The nodes pull no images. --image names the archives in which 'docker save' or 'podman save' wrote the images of the application.

What is done, to each Deployment and StatefulSet behind a URL:

  rollout      a rolling update of its pods, and the rollback
  drain        its node is drained, as before maintenance, for at most two minutes
  delete-pod   one of its pods is deleted
  scale        one replica more, one less than before, and back
  node-kill    one of its nodes dies; its share of the requests may fail until that is noticed

` + exitCodes,
		Example: `  holdfast test                       # reads ./holdfast.yaml
  holdfast test suites/apps/nginx/holdfast.yaml --fix
  holdfast test -f k8s/ --image web.tar --url http://web.shop/
  holdfast test -k overlays/prod --image web.tar --url http://web/health --faults rollout,drain`,
		Args: func(cmd *cobra.Command, args []string) error { return usage(cobra.MaximumNArgs(1)(cmd, args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.Find(args); err != nil {
				return usage(err)
			}
			chosen, err := f.scenarios()
			if err != nil {
				return usage(err)
			}
			if err := f.Validate(); err != nil {
				return usage(err)
			}
			apptest.Announce(cmd.OutOrStdout(), chosen.specs, chosen.untested)
			return f.runTest(cmd, version, chosen)
		},
	}
	f.own(cmd.Flags())
	f.place(cmd)
	return cmd
}

// own are the flags of `holdfast test` alone.
func (f *testFlags) own(flags *pflag.FlagSet) {
	manifestFlags(flags, &f.Sources, &f.Namespace)
	flags.StringSliceVar(&f.URLs, "url", nil, "URL of a Service of the application that requests are sent to; can be repeated")
	flags.StringSliceVar(&f.Archives, "image", nil, "archive with images of the application, from 'docker save'; can be repeated")
	flags.StringSliceVar(&f.Faults, "faults", nil, "what is done, of "+strings.Join(apptest.FaultNames(), ", ")+
		" (default: "+strings.Join(apptest.DefaultFaults, ", ")+")")
	flags.BoolVar(&f.fix, "fix", false, "if a promise is broken, apply the remedy to the copy in the cluster and run the same again")
	flags.BoolVar(&f.ablate, "ablate", false, "take away one good practice of the manifests after the other, and say what happened without it")
	flags.IntVar(&f.times, "times", defaultTimes, "with --ablate: how often each practice is taken away")
}

// manifestFlags adds the flags of all commands that read an application's manifests.
func manifestFlags(flags *pflag.FlagSet, from *app.Sources, namespace *string) {
	flags.StringSliceVarP(&from.Files, "filename", "f", nil, "file, folder or URL with manifests, or - for the standard input; can be repeated")
	flags.StringVarP(&from.Kustomize, "kustomize", "k", "", "folder with a kustomization")
	flags.StringVarP(namespace, "namespace", "n", "", "namespace of objects that name none (default \""+app.DefaultNamespace+"\")")
}

// defaultTimes is how often each practice is taken away: what happens by chance now and then must not look like never.
const defaultTimes = 3

// scenariosOfTest are what a test runs, and what it does not test.
type scenariosOfTest struct {
	specs     []scenario.Spec
	untested  []app.Workload
	ablations []apptest.Ablation
}

// scenarios reads the manifests and makes the scenarios.
func (f testFlags) scenarios() (s scenariosOfTest, err error) {
	test, err := f.Test()
	if err != nil {
		return s, err
	}
	s.specs, s.untested, err = test.Scenarios()
	if err == nil && f.ablate {
		s.specs, s.ablations, err = test.Ablate(f.times)
	}
	return s, err
}

// runTest runs the scenarios of a test.
func (f testFlags) runTest(cmd *cobra.Command, version string, chosen scenariosOfTest) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	progress := run.NewProgress(out, len(chosen.specs))
	p, err := newProvider(ctx, f.provider, out, progress.Say)
	if err != nil {
		return err
	}
	settings, err := f.Settings(ctx, version, out, p, progress)
	if err != nil {
		return err
	}
	settings.Cure = f.fix
	settings.Reproduce = func(_, kubernetes string) string { return f.reproduce(settings.Seed, kubernetes) }
	file, err := run.Scenarios(ctx, settings, chosen.specs)
	if len(file.Scenarios) == 0 { // no scenario was begun
		return err
	}
	if len(chosen.ablations) > 0 {
		_, _ = fmt.Fprintln(out, "\n"+apptest.Table(chosen.ablations, file))
	}
	return report(out, settings.Dir, file, err)
}

// reproduce is the command that runs the test again.
func (f testFlags) reproduce(seed uint64, kubernetes string) string {
	words := append([]string{"holdfast", "test"}, f.Words()...)
	if f.ablate {
		words = append(words, "--ablate", "--times", fmt.Sprint(f.times))
	}
	again := f.Options
	again.Names, again.Scope, again.Seed = nil, "short", seed
	return strings.Join(words, " ") + strings.TrimPrefix(again.Reproduce("", kubernetes), "holdfast run")
}
