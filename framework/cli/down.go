package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/holdfast-ha/holdfast/clusters/kind"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
)

func downCommand() *cobra.Command {
	var all, force bool
	cmd := &cobra.Command{
		Use:   "down [NAME]",
		Short: "Remove a cluster, or everything that is ours",
		Long: `down removes a cluster that 'holdfast up' made: containers, volumes and network. With --all it removes every cluster of
holdfast's, and what a crash has left of one, whatever process made it. A cluster that a run uses is removed with --all or --force.`,
		Example: "  holdfast down demo\n  holdfast down --all",
		Args: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) || len(args) > 1 {
				return exit.Usage(errors.New("name one cluster, or give --all"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := engine.Find(cmd.Context(), engine.Options{NoInstall: true, Say: sayTo(cmd.ErrOrStderr())})
			var none *engine.NotFoundError
			if errors.As(err, &none) && all {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "nothing to remove: there is no container engine")
				return err
			}
			if err != nil {
				return err
			}
			if err := maintenance.CheckRemoval(cmd.Context(), e, sayTo(cmd.ErrOrStderr()), args, force); err != nil {
				return err
			}
			return remove(cmd.Context(), e, cmd.OutOrStdout(), args)
		},
	}
	cmd.ValidArgsFunction = completeClusters
	cmd.Flags().BoolVar(&all, "all", false, "remove everything that is ours")
	cmd.Flags().BoolVar(&force, "force", false, "remove the cluster also while a run uses it")
	return cmd
}

// nothingRemoved says which clusters there are, because the name may have been mistyped.
func nothingRemoved(ctx context.Context, e *engine.Engine, out io.Writer, name []string) error {
	text := "nothing to remove"
	if len(name) > 0 {
		there, err := maintenance.Clusters(ctx, e)
		if err != nil {
			return err
		}
		text += ": there is no cluster " + name[0]
		if len(there) > 0 {
			text += "; there is " + prose.List(there)
		}
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

// remove removes the cluster named, or all of ours when none is.
func remove(ctx context.Context, e *engine.Engine, out io.Writer, name []string) error {
	removed, err := kind.Removed{}, error(nil)
	if len(name) == 0 {
		removed, err = kind.DeleteAll(ctx, e)
		err = errors.Join(err, e.RemoveProbes(ctx))
	} else {
		removed, err = kind.Delete(ctx, e, name[0])
	}
	if err != nil {
		return err
	}
	if removed.Nothing() {
		return nothingRemoved(ctx, e, out, name)
	}
	_, err = fmt.Fprintf(out, "removed %s, %s, %s\n", prose.Counted(uint64(len(removed.Containers)), "container"),
		prose.Counted(uint64(len(removed.Volumes)), "volume"), prose.Counted(uint64(len(removed.Networks)), "network"))
	return err
}
