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
const testLong = `test reads what to test from holdfast.yaml, or from the given file, or from flags. It makes a cluster, deploys the manifests of an
application to it, sends requests to the URLs while pods and nodes are taken away, judges the record, and writes a report. It removes
everything that it created, also after Ctrl-C.

A URL names a Service of the application, as its clients in the cluster do: http://web/ or http://web.shop.svc:8080/health, or the host
of one of its Ingresses or HTTPRoutes, whose controller is among the manifests. Services of type LoadBalancer get addresses. Requests
speak HTTP/1.1, on new connections and on reused ones. Status 200 is a good answer. Every other answer counts as a failure, and so does every
request that the client's library sends a second time without telling. If a request fails before anything is disturbed, the test ends.
A ws or wss URL opens WebSockets. In holdfast.yaml, a probe also sends messages over them, speaks HTTP/2, asks the health service of a
gRPC server or calls a method, or speaks TCP; and it says which certificate authorities are trusted.

Manifests are files, a kustomization, or a Helm chart. A chart is rendered by your own helm, or by one that is compiled once, and its hooks
run as in a first installation. What --before names is created, and ready, before everything else: CustomResourceDefinitions, operators,
controllers. Objects may be in several namespaces; what is tested is in one. Custom resources by which no request is answered, such as
ServiceMonitors, are left out with a note, unless something defines their kind. What cannot work in this cluster is listed object by object
before anything is created: Secrets that no object creates, nodes and kinds that it does not have, requests larger than the machine. What the
API server refuses is listed as soon as it answers, while nodes still join.

If a promise is broken, the report names the cause, and the patch that takes it away if there is one. With --fix the patch is applied
to the copy in the cluster, and the same is done again: cured, or not.

No request fails during a rollout, a drain, a deletion or scaling. After a loss only the requests to the lost pods fail, until Kubernetes
must have noticed. In holdfast.yaml, promises says otherwise: for each class of faults, and for a probe by its name. What is weaker than the
default stands in each verdict.

With --ablate, the good practices in the manifests are taken away one by one, each under the fault that it is for: preStop hook, probes,
strategy, grace period, spread constraints, affinity, replicas and disruption budget. A table at the end says what happened without each.
Where a promise was broken, each patch that the audit proposes is tried in the same way, and a second table says what happened with it. It
is advice, and never a failure.

With --check, nothing is created: the file and the manifests are read, and what would be done and promised is listed, and what is untested.

With --watch, the cluster stays. When the manifests, the file or an image archive changes, the test runs again on it, until Ctrl-C.

A registry in the cluster serves the images under the names and digests that the manifests have, also those that custom resources and
ConfigMaps name. They come from --image, which takes archives of 'docker save' and 'podman save', and references; from the local container
engine; and, unless --pull is never, from their registries, which this machine asks once, with your own credentials. Nodes pull from
nowhere else. What a pod needs and nobody has is listed before a cluster is made.

What is done, to each Deployment, StatefulSet and DaemonSet behind a URL, or to one alone (drain:web, in holdfast.yaml {drain: web}), also to one that
no URL leads to. A DaemonSet is neither drained nor scaled. All URLs are asked meanwhile: that the cache is gone must not be seen by clients of the pages.

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
