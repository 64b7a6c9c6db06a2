package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/restore"
	"github.com/holdfast-ha/holdfast/suites/mutants/upgrade"
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
				return usage(errors.New("name clusters, or give --all"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			e, err := engine.Find(ctx, engine.Options{NoInstall: true, Say: sayTo(cmd.ErrOrStderr())})
			var none *engine.NotFoundError
			if errors.As(err, &none) && all {
				_, err = fmt.Fprintln(out, "nothing to heal: there is no container engine")
				return err
			}
			if err != nil {
				return err
			}
			if all {
				if args, err = inventory.Names(ctx, e); err != nil {
					return err
				}
			}
			return healAll(ctx, out, args, func(ctx context.Context, name string) (clusters.Cluster, error) {
				return kind.Open(ctx, e, name, kind.Options{})
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "heal every cluster of holdfast")
	return cmd
}

// healAll heals clusters one after the other. It continues after an error.
func healAll(ctx context.Context, out io.Writer, names []string, open func(context.Context, string) (clusters.Cluster, error)) error {
	if len(names) == 0 {
		_, err := fmt.Fprintln(out, "nothing to heal: there is no cluster")
		return err
	}
	var errs []error
	for _, name := range names {
		c, err := open(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("heal cluster %s: it does not exist", name))
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w; if it cannot be opened, remove it with 'holdfast down %s'", err, name))
			continue
		}
		did := 0
		err = healHeld(ctx, c, func(what string) {
			did++
			_, _ = fmt.Fprintf(out, "%s: %s\n", name, what)
		})
		switch {
		case err != nil:
			errs = append(errs, err)
		case did == 0:
			_, _ = fmt.Fprintf(out, "%s: nothing to heal\n", name)
		default:
			_, _ = fmt.Fprintf(out, "%s: healed, and every node is Ready\n", name)
		}
	}
	return errors.Join(errs...)
}

// healHeld holds a cluster and heals it. While the API server is unreachable, which may be what needs healing, only runs on this machine
// are known to hold the cluster.
func healHeld(ctx context.Context, c clusters.Cluster, say func(string)) error {
	client, o, err := holdOf(c)
	if err != nil {
		return fmt.Errorf("heal cluster %s: %w", c.Name(), err)
	}
	o.Heal = true
	o.Found = func(dead hold.Holder) { say("released the cluster from " + dead.Run + ", which has ended") }
	h, err := hold.Take(ctx, client, "heal", commandLine(), o)
	var away *hold.UnreachableError
	if err != nil && !errors.As(err, &away) {
		return err
	}
	if err := healOne(ctx, c, say); err != nil {
		return errors.Join(err, h.Leave(ctx, "it could not be healed: "+err.Error()))
	}
	if h == nil { // the API server is reachable now
		if h, err = hold.Take(ctx, client, "heal", commandLine(), o); err != nil {
			return err
		}
	}
	return h.Release(ctx)
}

// healOne reverts the faults and regressions of an upgrade in a cluster.
func healOne(ctx context.Context, c clusters.Cluster, say func(string)) error {
	if err := restore.Cluster(ctx, c, say); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return fmt.Errorf("heal cluster %s: %w", c.Name(), err)
	}
	reverted, err := upgrade.Revert(ctx, client)
	for _, what := range reverted {
		say("removed " + what + ", which was planted")
	}
	return err
}
