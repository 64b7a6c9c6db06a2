package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
)

// defaultNodes is the size of the cluster that most scenarios run on: a control plane, the node that carries the load,
// and two workers in each of three zones.
const defaultNodes = 8

func upCommand() *cobra.Command {
	var spec clusters.Spec
	var from string
	cmd := &cobra.Command{
		Use:   "up NAME",
		Short: "Make a cluster, and leave it for `holdfast run --cluster NAME`",
		Long: `up makes a cluster and returns when it is proven usable: every node Ready, DNS answers, a Service reachable from every
node. The nodes keep no default route, unless --egress is given. Your own kubeconfig is left alone; the new one is named.`,
		Example: "  holdfast up demo\n  holdfast up demo --kubernetes v1.36.3 --zones a,b --workers-per-zone 1 --timings stock",
		Args:    oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCluster(spec); err != nil {
				return usage(err)
			}
			return up(cmd, from, args[0], spec)
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, providerFlag, "kind", "what makes the cluster")
	f.StringVar(&spec.Kubernetes, "kubernetes", "", "version, such as v1.37.0; default: the newest that can be had")
	f.StringSliceVar(&spec.Zones, "zones", []string{"a", "b", "c"}, "values of the zone label")
	f.IntVar(&spec.WorkersPerZone, "workers-per-zone", 2, "workers in each zone")
	f.IntVar(&spec.ControlPlanes, "control-planes", 1, "control-plane nodes")
	f.StringVar((*string)(&spec.Profile), "timings", string(clusters.Lab), "lab: a lost node is noticed in seconds; stock: Kubernetes' defaults")
	f.StringVar((*string)(&spec.ProxyMode), "proxy-mode", string(clusters.NFTables), "kube-proxy's mode: nftables or iptables")
	f.BoolVar(&spec.LeaderElection, "leader-election", false, "have a lone kube-controller-manager and kube-scheduler elect a leader, as kubeadm does")
	f.BoolVar(&spec.Egress, "egress", false, "leave the nodes their default route")
	return cmd
}

// checkCluster is the spec's own check, but that a number which was given as zero does not mean its default.
func checkCluster(spec clusters.Spec) error {
	switch {
	case spec.WorkersPerZone == 0:
		return errors.New("workers per zone 0: must be at least 1")
	case spec.ControlPlanes == 0:
		return errors.New("control planes 0: must be at least 1")
	}
	return spec.Validate()
}

func up(cmd *cobra.Command, from, name string, spec clusters.Spec) error {
	p, err := provider(cmd.Context(), from, cmd.ErrOrStderr(), func(doing string) { sayTo(cmd.ErrOrStderr())("  %s", doing) })
	if err != nil {
		return err
	}
	c, err := p.Create(cmd.Context(), name, spec)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "cluster %s is up: Kubernetes %s, %d nodes\n", name, c.Spec().Kubernetes, len(c.Nodes()))
	if err != nil {
		return err
	}
	k, hasKubeconfig := c.(interface{ Kubeconfig() (string, error) })
	if !hasKubeconfig {
		return nil
	}
	path, err := k.Kubeconfig()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "  export KUBECONFIG=%s\n  holdfast run --cluster %s\n  holdfast down %s\n", path, name, name)
	return err
}
