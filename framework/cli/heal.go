package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/suites/mutants/upgrade"
)

// healFlags are the flags of `holdfast heal`.
type healFlags struct {
	all, dryRun bool
	app         string
	cluster     *existing.Flags
}

func healCommand() *cobra.Command {
	f := healFlags{cluster: clusterFlags()}
	cmd := &cobra.Command{
		Use:   "heal [CLUSTER ...]",
		Short: "Undo what a killed run left in a cluster",
		Long: `heal undoes what a killed run has changed in a cluster and could not undo itself, and prints each action. A second heal finds nothing to do.

With names, heal works on clusters from 'holdfast up'. It unpauses and starts nodes, runs the undo scripts that faults store on every node
before they change anything (/var/lib/holdfast/undo), removes the timers of these scripts, uncordons the nodes that a fault cordoned, removes the
namespaces and cluster-wide objects of scenarios, and returns when every node is Ready, and kube-proxy and CoreDNS are available.

With --context, heal works on a cluster that holdfast did not make. There, the request that changed an object also stored in its annotation
holdfast.dev/undo what the field had held. heal lists nodes, Deployments and StatefulSets, puts these fields back, and removes the annotation, from
any machine: it needs neither the machine nor the files of the run. A field that another client has changed since stays as it is, and heal says
so. It also removes the run's healer, namespaces of holdfast whose time has passed, and the namespace holdfast.

heal refuses a cluster that a run is using. After Ctrl-C no heal is needed, because the run undoes its own changes. No heal is needed before
'holdfast down' either, which removes a cluster in any state.

Exit codes: 0 everything is undone, or was left because another client has changed it; 3 something could not be undone, or the
cluster is in use; 4 the command line is wrong.`,
		Example: `  holdfast heal demo
  holdfast heal --all
  holdfast heal --context staging --dry-run    # what would be undone; changes nothing
  holdfast heal --context staging`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(args); err != nil {
				return err
			}
			if f.cluster.Named() == nil {
				return f.foreign(cmd)
			}
			return f.ours(cmd, args)
		},
	}
	cmd.ValidArgsFunction = completeClusters
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "heal every cluster of holdfast")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and change nothing; with --context")
	flags.StringVar(&f.app, "app", "", "bring back nodes that a killed run took away, with the command disturb.nodeKill.undo of this holdfast.yaml; with --context")
	f.cluster.Add(flags)
	return cmd
}

// validate wants either names, or --all, or a cluster of a kubeconfig that is named: nothing is ever changed in the current context because it happens
// to be the current one.
func (f healFlags) validate(args []string) error {
	named := f.cluster.Named() == nil
	ways := 0
	for _, way := range []bool{len(args) > 0, f.all, named} {
		if way {
			ways++
		}
	}
	switch {
	case ways == 0 && len(f.cluster.Words()) > 0:
		return exit.Usage(f.cluster.Named())
	case ways != 1:
		return exit.Usage(errors.New("name clusters of holdfast, or give --all, or name a cluster of a kubeconfig with --context"))
	case !named && (f.dryRun || f.app != ""):
		return exit.Usage(errors.New("--dry-run and --app need --context"))
	}
	return nil
}

// foreign heals a cluster that holdfast did not make.
func (f healFlags) foreign(cmd *cobra.Command) error {
	access, err := f.cluster.Open()
	if err != nil {
		return exit.Usage(err)
	}
	h := maintenance.Foreign{Access: access, Out: cmd.OutOrStdout()}
	if f.app != "" {
		file, err := appfile.Read(f.app)
		switch {
		case err != nil:
			return exit.Usage(err)
		case file.Disturb == nil || file.Disturb.NodeKill == nil || file.Disturb.NodeKill.Undo == "":
			return exit.Usage(fmt.Errorf("--app %s: it has no disturb.nodeKill.undo", f.app))
		}
		h.BringBack = file.Disturb.NodeKill.Undo
	}
	if f.dryRun {
		return h.DryRun(cmd.Context())
	}
	return h.Heal(cmd.Context())
}

// ours heals clusters of holdfast.
func (f healFlags) ours(cmd *cobra.Command, args []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	e, err := engine.Find(ctx, engine.Options{NoInstall: true, Say: sayTo(cmd.ErrOrStderr())})
	var none *engine.NotFoundError
	if errors.As(err, &none) && f.all {
		_, err = fmt.Fprintln(out, "nothing to heal: there is no container engine")
		return err
	}
	if err != nil {
		return err
	}
	if f.all {
		if args, err = maintenance.Clusters(ctx, e); err != nil {
			return err
		}
	}
	open := func(ctx context.Context, name string) (clusters.Cluster, error) {
		return kind.Open(ctx, e, name, kind.Options{})
	}
	return maintenance.Healer{Open: open, Revert: upgrade.Revert, Out: out}.Heal(ctx, args)
}
