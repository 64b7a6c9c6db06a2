package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// initFlags are the flags of `holdfast init`.
type initFlags struct {
	sources           app.Sources
	namespace, output string

	cluster   *existing.Flags // that the application is copied from
	manifests string
}

func initCommand() *cobra.Command {
	f := initFlags{cluster: clusterFlags()}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write holdfast.yaml for an application, with probes guessed from its manifests",
		Long: `init reads the manifests of an application and writes holdfast.yaml, which holdfast test reads. It guesses which requests show whether
the application serves, from Services, ports, probes, Ingresses and HTTPRoutes, and says in a comment what each guess rests on. Secrets that
no object creates are made with random values if pods name their keys, and none is that of a certificate or another file with a form. It does
not overwrite a file, and lists what cannot work in the cluster of a test. The JSON schema of holdfast.yaml is written beside it, for editors.

With --context it copies the manifests from the namespace of a running application first. It only reads that cluster: it sends no
request that could change anything, and reads no Secret. What the copy lacks is listed.

` + exit.Codes,
		Example: "  holdfast init -f k8s/\n  holdfast init -k overlays/prod --output prod.yaml\n  holdfast init --chart charts/shop --values prod.yaml\n  holdfast init --context staging -n shop",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.cluster.Named() == nil {
				if err := f.copy(cmd); err != nil {
					return err
				}
			}
			if err := f.write(cmd); err != nil {
				return exit.Unread(err)
			}
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s is written: check its comments, and run 'holdfast test %s'\n", f.output, f.output)
			return nil
		},
	}
	flags := cmd.Flags()
	appfile.ManifestFlags(flags, &f.sources, &f.namespace)
	flags.StringVarP(&f.output, "output", "o", appfile.Name, "file to write")
	f.cluster.AddFew(flags)
	flags.Lookup("context").Usage = "copy the application from the cluster of this context, read only"
	flags.StringVar(&f.manifests, "manifests", "manifests", "with --context: new folder for the copied manifests")
	return cmd
}

// copyLimit is how long the API server may take for one answer.
const copyLimit = 30 * time.Second

// copy copies the application from the cluster, and makes the copy the source of the manifests.
func (f *initFlags) copy(cmd *cobra.Command) error {
	switch {
	case !f.sources.Empty():
		return exit.Usage(errors.New("--context with -f, -k or --chart: the manifests come from the cluster, or from files"))
	case f.namespace == "":
		return exit.Usage(errors.New("--context without --namespace: name the namespace of the application"))
	}
	way, err := f.cluster.Open()
	if err != nil {
		return exit.Usage(err)
	}
	config := way.ReadOnly()
	config.Timeout = copyLimit
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	found, err := manifests.CopyOf(cmd.Context(), client, f.namespace)
	if err != nil {
		return way.Explain(err)
	}
	if err := found.Write(f.manifests); err != nil {
		return exit.Usage(err)
	}
	say := sayTo(cmd.OutOrStdout())
	say("%d manifests of namespace %s are in %s", len(found.Objects), f.namespace, f.manifests)
	for _, gap := range found.Gaps {
		say("  %s", gap)
	}
	f.sources.Files = []string{f.manifests}
	return nil
}

// write writes the file.
func (f initFlags) write(cmd *cobra.Command) error {
	if f.sources.Empty() {
		return errors.New("no manifests: " + app.HowToName)
	}
	a, err := manifests.Read(cmd.Context(), f.sources, manifests.Options{Namespace: f.namespace, Helm: manifests.Helm{Out: cmd.ErrOrStderr()}})
	if err != nil {
		return err
	}
	if with, gaps := manifests.Generate(a); len(gaps) == 0 {
		a = with
	}
	text, missing := appfile.Guess(a, f.sources, filepath.Dir(f.output))
	if err := appfile.Write(f.output, text); err != nil {
		return err
	}
	say := sayTo(cmd.OutOrStdout())
	for _, note := range a.Notes {
		say("note: %s", note)
	}
	for _, found := range (apptest.Test{App: a}).Findings() {
		say("cannot work here: %s", found)
	}
	if missing != "" {
		say("%s", missing)
	}
	return nil
}
