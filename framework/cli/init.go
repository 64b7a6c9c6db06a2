package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/appfile"
	"github.com/holdfast-ha/holdfast/framework/appguess"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// initFlags are the flags of `holdfast init`.
type initFlags struct {
	sources           app.Sources
	namespace, output string
}

func initCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write holdfast.yaml for an application, with probes guessed from its manifests",
		Long: `init reads the manifests of an application and writes holdfast.yaml, which holdfast test reads. It guesses which requests show whether
the application serves, from Services, ports and readiness probes, and says in a comment what each guess rests on. It asks no cluster,
and does not overwrite a file.

` + exitCodes,
		Example: "  holdfast init -f k8s/\n  holdfast init -k overlays/prod --output prod.yaml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.write(); err != nil {
				return usage(err)
			}
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s is written: check its comments, and run 'holdfast test %s'\n", f.output, f.output)
			return nil
		},
	}
	flags := cmd.Flags()
	appfile.ManifestFlags(flags, &f.sources, &f.namespace)
	flags.StringVarP(&f.output, "output", "o", appfile.Name, "file to write")
	return cmd
}

// write writes the file.
func (f initFlags) write() error {
	if len(f.sources.Files) == 0 && f.sources.Kustomize == "" {
		return errors.New("no manifests: name files or folders with -f, or a kustomization with -k")
	}
	manifests, err := app.Read(f.sources)
	if err != nil {
		return err
	}
	a, err := app.New(manifests, f.namespace)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already: remove it, or write another file with --output", f.output)
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(appguess.File(a, f.sources, filepath.Dir(f.output)))
	return errors.Join(err, file.Close())
}
