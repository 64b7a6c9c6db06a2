package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters/doctor"
)

func doctorCommand() *cobra.Command {
	var options doctor.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether a cluster can be made on this machine, and what to do if not",
		Long: `doctor looks at everything that was seen to keep a cluster from starting: one line a check, with its remedy. As root it
raises the inotify limits. It installs nothing unless --install is given. The exit code is 0 only if a cluster can be made.`,
		Example: "  holdfast doctor\n  holdfast doctor --nodes 8 --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.Nodes < 1 {
				return usage(fmt.Errorf("nodes %d: must be at least 1", options.Nodes))
			}
			options.Say = sayTo(cmd.ErrOrStderr())
			report := doctor.Examine(cmd.Context(), options)
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
	cmd.Flags().BoolVar(&options.Install, "install", false, "install a container engine where there is none (root, Debian or Ubuntu)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
