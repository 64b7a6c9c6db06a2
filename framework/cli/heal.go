package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
	"github.com/holdfast-ha/holdfast/framework/maintenance"
)

func healCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "heal [CLUSTER ...]",
		Short: "Revert the faults that a killed run left in a cluster",
		Long: `heal repairs clusters in which a killed run left a fault in force. It unpauses and starts nodes, runs the undo scripts that
faults store on every node before they change anything (/var/lib/holdfast/undo), removes the timers of these scripts, uncordons the
nodes that a fault cordoned, and removes the namespaces and cluster-wide objects of scenarios. It prints each action, and returns when
every node is Ready, and kube-proxy and CoreDNS are available. A second heal then finds nothing to do.

heal refuses a cluster that a run is using. After Ctrl-C no heal is needed, because the run reverts its own faults. No heal is needed
before 'holdfast down' either, which removes a cluster in any state.

Exit codes: 0 every cluster is healed; 3 a cluster could not be healed, or is in use; 4 the command line is wrong.`,
		Example: "  holdfast heal demo\n  holdfast heal demo && holdfast run --cluster demo chaos/rolling-update\n  holdfast heal --all",
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return exit.Usage(errors.New("name clusters, or give --all"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			e, err := engine.Find(ctx, engine.Options{NoInstall: true, Say: terminal.SayTo(cmd.ErrOrStderr())})
			var none *engine.NotFoundError
			if errors.As(err, &none) && all {
				_, err = fmt.Fprintln(out, "nothing to heal: there is no container engine")
				return err
			}
			if err != nil {
				return err
			}
			if all {
				if args, err = maintenance.Clusters(ctx, e); err != nil {
					return err
				}
			}
			open := func(ctx context.Context, name string) (clusters.Cluster, error) {
				return kind.Open(ctx, e, name, kind.Options{})
			}
			return maintenance.Healer{Open: open, Out: out}.Heal(ctx, args)
		},
	}
	cmd.ValidArgsFunction = terminal.CompleteClusters
	cmd.Flags().BoolVar(&all, "all", false, "heal every cluster of holdfast")
	return cmd
}
