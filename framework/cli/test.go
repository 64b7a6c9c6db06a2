package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/deploy/images"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// testFlags are the flags of `holdfast test`.
type testFlags struct {
	runFlags
	appfile.Choice
	fix    bool
	ablate bool
	watch  bool
	check  bool
	times  int // each practice is taken away so often

	running disturbFlags
}

// testLong is the help of `holdfast test`.
const testLong = `test makes a cluster, deploys the manifests of an application to it, sends requests to its URLs while pods and nodes are taken away, judges the
record, and writes a report. What to test is in holdfast.yaml, or in the given file, or in flags. It removes everything that it created, also after
Ctrl-C.

A URL names a Service of the application, as its clients in the cluster do (http://web/, http://web.shop.svc:8080/health), or the host of one of its
Ingresses or HTTPRoutes, whose controller is among the manifests. Requests speak HTTP/1.1, on new connections and on reused ones. Each answer but
status 200 is a failure, and so is a request that the client's library silently sent again. holdfast.yaml names other protocols and expectations.

Manifests are files, a kustomization, or a Helm chart. What --before names is ready before everything else: CustomResourceDefinitions, operators,
controllers. What cannot work in this cluster is listed before anything is created. Images come from --image, from the local container engine and,
unless --pull is never, from their registries. A registry in the cluster serves them under the names that the manifests have.

If a promise is broken, the report names the cause, and the patch that takes it away if there is one. --fix applies the patch to the copy in the
cluster, and does the same again. --ablate takes the good practices in the manifests away one by one, and says what happened without each. --check
creates nothing and lists what would be done and promised, and what is untested. --watch keeps the cluster and tests again when the manifests, the
file or an image archive changes.

No request fails during a rollout, a drain, a deletion or scaling. After a loss only the requests to the lost pods fail, until Kubernetes must have
noticed. In holdfast.yaml, promises changes that for a class of faults or for a probe. A weaker promise stands in the verdict.

These faults meet each Deployment, StatefulSet and DaemonSet behind a URL, or one alone (drain:web, in holdfast.yaml {drain: web}). A DaemonSet is
neither drained nor scaled.

  rollout      a rolling update of its pods, and the rollback
  drain        its node is drained, as before maintenance, for at most two minutes
  delete-pod   one of its pods is deleted
  scale        one replica more, one less than before, and back
  node-kill    one of its nodes dies; its share of the requests may fail until that is noticed

`

func testCommand(version string) *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [FILE]",
		Short: "Test an application of your own while its pods and nodes are taken away",
		Long:  testLong + disturbHelp + "\n" + exit.Codes,
		Example: `  holdfast test                       # reads ./holdfast.yaml
  holdfast test suites/apps/nginx/holdfast.yaml --fix
  holdfast test -f k8s/ --image web.tar,shop/cart:dev --url http://web.shop/
  holdfast test --chart charts/shop --values prod.yaml --before operators/ --url http://shop/
  holdfast test --check               # what would be tested, without a cluster
  holdfast test --watch --faults rollout
  holdfast test --context staging --disturb --holdfast-image reg/hf:1   # where it runs already
  holdfast test -k overlays/prod --image web.tar --url http://web/health --faults rollout,drain`,
		Args: func(cmd *cobra.Command, args []string) error { return exit.Usage(cobra.MaximumNArgs(1)(cmd, args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if is, err := f.running.Wanted(cmd.Flags()); err != nil {
				return exit.Usage(err)
			} else if is {
				return f.testRunning(cmd, version, args)
			}
			if err := f.Find(args); err != nil {
				return exit.Usage(err)
			}
			f.Helm.Out, f.Helm.Kubernetes, f.Existing = cmd.ErrOrStderr(), f.Kubernetes, f.Cluster != ""
			chosen, err := f.scenarios(cmd.Context())
			if err != nil {
				return exit.Unread(err)
			}
			if err := f.Validate(); err != nil {
				return exit.Usage(err)
			}
			apptest.Announce(cmd.OutOrStdout(), chosen.specs, chosen.untested)
			if f.check {
				apptest.List(cmd.OutOrStdout(), chosen.specs)
				return nil
			}
			if f.watch {
				return f.watchTest(cmd, version, chosen)
			}
			return f.runTest(cmd, version, chosen, nil)
		},
	}
	f.own(cmd.Flags())
	f.place(cmd)
	return cmd
}

// testRunning tests an application where it runs already.
func (f testFlags) testRunning(cmd *cobra.Command, version string, args []string) error {
	if err := f.Running(args); err != nil {
		return exit.Usage(err)
	}
	return f.running.Run(cmd, version, f)
}

// own are the flags of `holdfast test` alone.
func (f *testFlags) own(flags *pflag.FlagSet) {
	f.Flags(flags)
	f.running.Add(flags)
	flags.BoolVar(&f.fix, "fix", false, "if a promise is broken, apply the remedy to the copy in the cluster and run the same again")
	flags.BoolVar(&f.ablate, "ablate", false, "take away one good practice of the manifests after the other, and say what happened without it")
	flags.BoolVar(&f.check, "check", false, "say what would be tested, and what not, and end: nothing is created, and no container engine is needed")
	flags.BoolVar(&f.watch, "watch", false, "keep the cluster, and run the test again when what it reads changes, until Ctrl-C")
	flags.IntVar(&f.times, "times", defaultTimes, "with --ablate: how often each practice is taken away")
}

// defaultTimes is how often each practice is taken away: what happens by chance now and then must not look like never.
const defaultTimes = 3

// scenariosOfTest are what a test runs, and what it does not test.
type scenariosOfTest struct {
	test     apptest.Test
	specs    []scenario.Spec
	untested []apptest.Untested
	tried    *apptest.Trial // by an ablation; nil: there is none
}

// scenarios reads the manifests and makes the scenarios.
func (f testFlags) scenarios(ctx context.Context) (s scenariosOfTest, err error) {
	if s.test, err = f.Test(ctx); err != nil {
		return s, err
	}
	s.specs, s.untested, err = s.test.Scenarios()
	if err == nil && f.ablate {
		s.specs, s.tried, err = s.test.Ablate(f.times)
	}
	return s, err
}

// variants are the applications of the scenarios.
func (s scenariosOfTest) variants() (all []*app.App) {
	for _, one := range s.specs {
		all = append(all, one.App)
	}
	return all
}

// watchTest runs a test again whenever what it reads has changed, until a signal ends it. The exit code is that of the last test.
func (f testFlags) watchTest(cmd *cobra.Command, version string, chosen scenariosOfTest) error {
	if err := f.watchable(); err != nil {
		return exit.Usage(err)
	}
	ctx, say := cmd.Context(), sayTo(cmd.OutOrStdout())
	var kept run.Pool
	for {
		last := f.runTest(cmd, version, chosen, &kept)
		if ctx.Err() != nil {
			return errors.Join(last, kept.Discard(ctx))
		}
		if last != nil {
			say("%v", last)
		}
		say("\nwaiting for a change of the manifests, the file or the images; Ctrl-C ends the test and removes the cluster")
		next, err := f.Changed(ctx, chosen.test, func(problem string) { say("%s", problem) })
		if err != nil {
			return errors.Join(last, kept.Discard(ctx))
		}
		chosen.test = next
		if chosen.specs, chosen.untested, err = next.Scenarios(); err != nil {
			return errors.Join(err, kept.Discard(ctx))
		}
	}
}

// watchable returns an error for what cannot be done with --watch.
func (f testFlags) watchable() error {
	switch {
	case f.ablate:
		return errors.New("--watch with --ablate: an ablation takes minutes, run it by itself")
	case f.Cluster != "":
		return errors.New("--watch with --cluster: the test has a cluster of its own, which stays until Ctrl-C")
	}
	return f.Watchable()
}

// runTest runs the scenarios of a test. The cluster is kept, if there is one to keep it.
func (f testFlags) runTest(cmd *cobra.Command, version string, chosen scenariosOfTest, kept *run.Pool) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	progress := progress.New(out, len(chosen.specs))
	remove, err := images.Prepare(ctx, chosen.variants(), progress.Say, out)
	if err != nil {
		return err
	}
	defer remove()
	p, err := providerNamed(ctx, f.provider, out, progress.Say)
	if err != nil {
		return err
	}
	if _, err := f.onCluster(ctx, p, chosen.specs, progress.Note); err != nil {
		return err
	}
	settings, err := launch.Settings(ctx, f.Options, launch.Tools{Version: version, Out: out, Provider: p, Progress: progress})
	if err != nil {
		return err
	}
	settings.Shared, settings.Cure = kept, f.fix
	if chosen.tried != nil {
		settings.Further = chosen.tried.Add
	}
	settings.Reproduce = func(_, kubernetes string) string { return f.again(settings.Seed, kubernetes) }
	file, err := run.Scenarios(ctx, settings, chosen.specs)
	if len(file.Scenarios) == 0 { // no scenario was begun
		return err
	}
	if chosen.tried != nil {
		_, _ = fmt.Fprintln(out, "\n"+chosen.tried.Table(file))
	}
	return report(out, settings.Dir, file, err)
}

// again is the command that runs the test again.
func (f testFlags) again(seed uint64, kubernetes string) string {
	others := []string{"--seed", fmt.Sprint(seed)}
	if kubernetes != "" && f.Cluster == "" {
		others = append(others, "--kubernetes", kubernetes)
	}
	return againCommand(append([]string{"holdfast", "test"}, f.given.Args()...), f.given, nil, others...)
}
