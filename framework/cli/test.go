package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/appfile"
	"github.com/holdfast-ha/holdfast/framework/apptest"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// testFlags are the flags of `holdfast test`.
type testFlags struct {
	runFlags
	file      string // holdfast.yaml; empty: everything is in flags
	sources   app.Sources
	namespace string
	urls      []string
	archives  []string
	faults    []string
	fix       bool
}

func testCommand(version string) *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [FILE]",
		Short: "Test an application of your own: does it lose requests when pods roll, nodes drain, a node dies?",
		Long: `test reads what to test from holdfast.yaml, or from the given file, or from flags. It makes a cluster, deploys the manifests of an application to it, sends requests to the URLs while pods and nodes are
taken away, judges the record, and writes a report. It removes everything that it created, also after Ctrl-C.

A URL names a Service of the application, as its clients in the cluster do: http://web/ or http://web.shop.svc:8080/health. Requests
are sent on new connections and on reused ones. Status 200 is a good answer. Every other answer counts as a failure, and so does every
request that the client's library sends a second time without telling. If a request fails before anything is disturbed, the test ends.

The nodes pull no images. --image names the archives in which 'docker save' or 'podman save' wrote the images of the application.

If a promise is broken, the report names the cause, and the patch that takes it away if there is one. With --fix the patch is applied
to the copy in the cluster, and the same is done again: cured, or not.

What is done, to each Deployment and StatefulSet behind a URL:
  rollout      a rolling update of its pods, and the rollback
  drain        its node is drained, as before maintenance, for at most two minutes
  delete-pod   one of its pods is deleted
  scale        one replica more, one less than before, and back
  node-kill    one of its nodes dies; requests to its pods may fail until Kubernetes must have noticed

` + exitCodes,
		Example: `  holdfast test                       # reads ./holdfast.yaml
  holdfast test suites/apps/nginx/holdfast.yaml --fix
  holdfast test -f k8s/ --image web.tar --url http://web.shop/
  holdfast test -k overlays/prod --image web.tar --url http://web/health --faults rollout,drain
  kubectl kustomize overlays/prod | holdfast test -f - --image web.tar --url http://web/`,
		Args: func(cmd *cobra.Command, args []string) error { return usage(cobra.MaximumNArgs(1)(cmd, args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.choose(args); err != nil {
				return usage(err)
			}
			chosen, err := f.scenarios()
			if err != nil {
				return usage(err)
			}
			if err := f.Validate(); err != nil {
				return usage(err)
			}
			for _, w := range chosen.untested {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "untested: no URL leads to %s %s, and nothing is promised of it\n", w.Kind(), w.Name)
			}
			return f.runTest(cmd, version, chosen.specs)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.sources.Files, "filename", "f", nil, "file, folder or URL with manifests, or - for the standard input; can be repeated")
	flags.StringVarP(&f.sources.Kustomize, "kustomize", "k", "", "folder with a kustomization")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of objects that name none (default \""+app.DefaultNamespace+"\")")
	flags.StringSliceVar(&f.urls, "url", nil, "URL of a Service of the application that requests are sent to; can be repeated")
	flags.StringSliceVar(&f.archives, "image", nil, "archive with images of the application, from 'docker save'; can be repeated")
	flags.StringSliceVar(&f.faults, "faults", nil, "what is done: "+strings.Join(apptest.FaultNames(), ", ")+" (default: all)")
	flags.BoolVar(&f.fix, "fix", false, "if a promise is broken, apply the remedy to the copy in the cluster and run the same again")
	f.place(cmd)
	return cmd
}

// scenariosOfTest are what a test runs, and what it does not test.
type scenariosOfTest struct {
	specs    []scenario.Spec
	untested []app.Workload
}

// choose decides where the test is written down: in the named file, in flags, or in holdfast.yaml.
func (f *testFlags) choose(args []string) error {
	flagged := len(f.sources.Files) > 0 || f.sources.Kustomize != ""
	switch {
	case len(args) == 1 && flagged:
		return fmt.Errorf("%s with -f or -k: the manifests are named in that file", args[0])
	case len(args) == 1:
		f.file = args[0]
	case !flagged:
		if _, err := os.Stat(appfile.Name); err != nil {
			return fmt.Errorf("no manifests: there is no %s here; name files or folders with -f, or a kustomization with -k", appfile.Name)
		}
		f.file = appfile.Name
	}
	return nil
}

// scenarios reads the manifests and makes the scenarios. Flags add to what is in the file, except that faults replace its faults.
func (f testFlags) scenarios() (s scenariosOfTest, err error) {
	test := apptest.Test{}
	if f.file != "" {
		file, err := appfile.Read(f.file)
		if err != nil {
			return s, err
		}
		f.sources, test.Faults = file.Sources(), file.Faults
		f.namespace = cmp.Or(f.namespace, file.App.Namespace)
		f.archives = append(file.App.Images, f.archives...)
		if test.Probes, err = file.ProbesOf(); err != nil {
			return s, err
		}
	}
	if len(f.faults) > 0 {
		test.Faults = f.faults
	}
	manifests, err := app.Read(f.sources)
	if err != nil {
		return s, err
	}
	if test.App, err = app.New(manifests, f.namespace); err != nil {
		return s, err
	}
	for _, archive := range f.archives {
		path, err := filepath.Abs(archive)
		if err != nil {
			return s, err
		}
		if _, err := os.Stat(path); err != nil {
			return s, fmt.Errorf("image archive: %w", err)
		}
		test.App.Archives = append(test.App.Archives, path)
	}
	for _, url := range f.urls {
		test.Probes = append(test.Probes, apptest.OfURL(url, len(test.Probes)))
	}
	s.specs, s.untested, err = test.Scenarios()
	return s, err
}

// runTest runs the scenarios of a test.
func (f testFlags) runTest(cmd *cobra.Command, version string, chosen []scenario.Spec) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	progress := run.NewProgress(out, len(chosen))
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
	file, err := run.Scenarios(ctx, settings, chosen)
	if len(file.Scenarios) == 0 { // no scenario was begun
		return err
	}
	return report(out, settings.Dir, file, err)
}

// reproduce is the command that runs the test again.
func (f testFlags) reproduce(seed uint64, kubernetes string) string {
	words := []string{"holdfast", "test"}
	if f.file != "" {
		words = append(words, f.file)
	}
	add := func(flag string, values ...string) {
		for _, value := range values {
			if value != "" {
				words = append(words, flag, value)
			}
		}
	}
	add("-f", f.sources.Files...)
	add("-k", f.sources.Kustomize)
	add("-n", f.namespace)
	add("--image", f.archives...)
	add("--url", f.urls...)
	add("--faults", strings.Join(f.faults, ","))
	add("--seed", fmt.Sprint(seed))
	if f.Cluster == "" {
		add("--kubernetes", kubernetes)
	}
	add("--cluster", f.Cluster)
	add("--timings", f.Timings)
	add("--proxy-mode", f.ProxyMode)
	return strings.Join(words, " ")
}
