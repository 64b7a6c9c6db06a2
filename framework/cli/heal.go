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
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/mutants/upgrade"
)

func healCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "heal [CLUSTER ...]",
		Short: "Undo what a run that was killed has left in a cluster",
		Long: `heal brings clusters back that a killed harness left in the middle of a fault: it thaws and starts machines, runs the undos
that faults leave on every node before they do anything (/var/lib/holdfast/undo), removes their timers, opens the nodes that a
fault has cordoned, and removes the namespaces and cluster-wide objects of scenarios. It says what it did, line by line, and
returns when every node is Ready, and kube-proxy and CoreDNS are available; a second heal then finds nothing.

While a run uses the cluster, heal refuses: it would undo that run's faults. Ctrl-C needs no heal,
since a run undoes its faults itself. 'holdfast down' removes a cluster in any state, and needs no heal before.`,
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
				if args, err = kindClusters(ctx, e); err != nil {
					return err
				}
			}
			return healAll(ctx, out, args, func(ctx context.Context, name string) (clusters.Cluster, error) {
				return kind.Open(ctx, e, name, kind.Options{})
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "heal every cluster of holdfast's")
	return cmd
}

// kindClusters names every cluster that the engine holds anything of.
func kindClusters(ctx context.Context, e *engine.Engine) (names []string, err error) {
	all, err := kind.List(ctx, e)
	for _, summary := range all {
		names = append(names, summary.Name)
	}
	return names, err
}

// healAll heals clusters one after the other. One that cannot be healed keeps none of the others from being so.
func healAll(ctx context.Context, out io.Writer, names []string, open func(context.Context, string) (clusters.Cluster, error)) error {
	if len(names) == 0 {
		_, err := fmt.Fprintln(out, "nothing to heal: there is no cluster")
		return err
	}
	var errs []error
	for _, name := range names {
		c, err := open(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("heal cluster %s: there is none of that name", name))
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

// healHeld heals a cluster that no other run uses, and that none uses meanwhile. While the API server is away, which may be what is
// to be healed, what this machine knows of the cluster has to do.
func healHeld(ctx context.Context, c clusters.Cluster, say func(string)) error {
	client, o, err := holdOf(c)
	if err != nil {
		return fmt.Errorf("heal cluster %s: %w", c.Name(), err)
	}
	o.Heal = true
	o.Found = func(dead hold.Holder) { say("forgot " + dead.Run + ", which has ended") }
	h, err := hold.Take(ctx, client, "heal", commandLine(), o)
	var away *hold.UnreachableError
	if err != nil && !errors.As(err, &away) {
		return err
	}
	if err := healOne(ctx, c, say); err != nil {
		return errors.Join(err, h.Leave(ctx, "it could not be healed: "+err.Error()))
	}
	if h == nil { // it can be reached now
		if h, err = hold.Take(ctx, client, "heal", commandLine(), o); err != nil {
			return err
		}
	}
	return h.Release(ctx)
}

// healOne reverts what faults and regressions have left in a cluster.
func healOne(ctx context.Context, c clusters.Cluster, say func(string)) error {
	if err := scenario.Heal(ctx, c, say); err != nil {
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
