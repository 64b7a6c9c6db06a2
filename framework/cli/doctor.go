package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/kind"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/doctor"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
)

func doctorCommand() *cobra.Command {
	var options doctor.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether a cluster can be made on this machine, and what to do if not",
		Long: `doctor looks at everything that was seen to keep a cluster from starting: one line a check, with its remedy. The line "first run" says
whether the first cluster waits for its node image. As root doctor raises the inotify limits. It installs nothing unless --install is given. The exit code is 0 only if a cluster can be made.`,
		Example: "  holdfast doctor\n  holdfast doctor --nodes 8 --kubernetes v1.36.3 --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.Nodes < 1 {
				return exit.Usage(fmt.Errorf("nodes %d: must be at least 1", options.Nodes))
			}
			if err := (clusters.Spec{Zones: []string{"a"}, Kubernetes: options.Kubernetes}).Validate(); err != nil {
				return exit.Usage(err)
			}
			options.Say = sayTo(cmd.ErrOrStderr())
			report := doctor.Examine(cmd.Context(), options)
			report.Add(executable(cmd.Context()))
			report.Add(abandoned(cmd.Context()))
			write := report.WriteText
			if asJSON {
				write = report.WriteJSON
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return err
			}
			if !report.OK {
				return errors.New("no cluster can be made here until the failed checks are mended")
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&options.Nodes, "nodes", defaultNodes, "how many nodes the cluster is to have")
	cmd.Flags().StringVar(&options.Kubernetes, "kubernetes", "", "version that the cluster is to have, such as v1.37.0; default: the newest that builds")
	cmd.Flags().BoolVar(&options.Install, "install", false, "install a container engine where there is none (root, Debian or Ubuntu)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// executable is the check for the program that runs in containers and on nodes: this one, if it is linked statically.
func executable(ctx context.Context) doctor.Check {
	cache, err := engine.CacheDir()
	var path string
	if err == nil {
		path, err = self.Path(ctx, cache)
	}
	if err != nil {
		return doctor.Check{Name: "executable", Status: doctor.Fail, Found: err.Error(), Remedy: "make build"}
	}
	return doctor.Check{Name: "executable", Status: doctor.OK, Found: path + " runs in containers"}
}

// abandoned is the check for what runs that were killed have left: each thing by its name, with the command that ends it.
func abandoned(ctx context.Context) doctor.Check {
	check := doctor.Check{Name: "killed runs", Status: doctor.OK, Found: "none has left anything"}
	e, err := engine.Find(ctx, engine.Options{NoInstall: true})
	if err != nil {
		check.Found = "no engine, so none that can be seen"
		return check
	}
	made, err := kind.Makers(ctx, e)
	if err != nil {
		check.Status, check.Found = doctor.Warn, "cannot be told: "+err.Error()
		return check
	}
	if lines := maintenance.Leftovers(made); len(lines) > 0 {
		check.Status, check.Found = doctor.Warn, strings.Join(lines, "; ")
		check.Remedy = "the command that is named there, or holdfast down --all"
	}
	return check
}
