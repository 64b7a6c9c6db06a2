package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// defaultNodes is the size of the cluster that most scenarios run on: a control plane, the node that carries the load,
// and two workers in each of three zones.
const defaultNodes = 8

func upCommand() *cobra.Command {
	var spec clusters.Spec
	var from, forScenario string
	cmd := &cobra.Command{
		Use:   "up NAME",
		Short: "Make a cluster, and leave it for `holdfast run --cluster NAME`",
		Long: `up makes a cluster and returns when it is proven usable: every node Ready, DNS answers, a Service reachable from every
node. The nodes keep no default route, unless --egress is given. Your own kubeconfig is left alone; the new one is named.

A scenario runs on the cluster that it needs. Flags of run, such as --proxy-mode, change what it needs. Without flags, up makes the cluster
that most scenarios need; --for makes that of a scenario. Beside the workers that are asked for, one more carries the load, and no fault touches it.`,
		Example: "  holdfast up demo && holdfast run --cluster demo chaos/rolling-update\n  holdfast up demo --for chaos/kube-proxy-away\n" +
			"  holdfast up demo --kubernetes v1.36.3 --timings stock\n  holdfast up large --zones a --workers-per-zone 2 --simulated-nodes 500",
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCluster(spec); err != nil {
				return exit.Usage(err)
			}
			if forScenario != "" {
				s, err := scenario.Choose(scenario.All, "full", []string{forScenario}, nil)
				if err != nil {
					return exit.Usage(err)
				}
				spec = scenario.WithFlags(s[0], spec, cmd.Flags().Changed)
			}
			return up(cmd, from, args[0], spec)
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, providerFlag, "kind", "what makes the cluster")
	f.StringVar(&forScenario, "for", "", "make the cluster that this scenario needs; other flags change it")
	f.StringVar(&spec.Kubernetes, "kubernetes", "", "version, such as v1.37.0; default: the newest that can be had")
	f.StringSliceVar(&spec.Zones, "zones", scenario.Standing.Zones, "values of the zone label")
	f.IntVar(&spec.WorkersPerZone, "workers-per-zone", scenario.Standing.WorkersPerZone, "workers in each zone")
	f.IntVar(&spec.ControlPlanes, "control-planes", scenario.Standing.ControlPlanes, "control-plane nodes")
	f.StringVar((*string)(&spec.Profile), "timings", string(scenario.Standing.Profile), "lab: a lost node is noticed in seconds; stock: Kubernetes' defaults")
	f.StringVar((*string)(&spec.ProxyMode), "proxy-mode", string(scenario.Standing.ProxyMode), "kube-proxy's mode: nftables, iptables, or ipvs where the kernel has it")
	f.BoolVar(&spec.LeaderElection, "leader-election", false, "have a lone kube-controller-manager and kube-scheduler elect a leader, as kubeadm does")
	f.IntVar(&spec.SimulatedNodes, "simulated-nodes", 0, "nodes without a machine beside the real ones; kwok keeps them, and nothing runs on them")
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
	p, err := providerNamed(cmd.Context(), from, cmd.ErrOrStderr(), func(doing string) { sayTo(cmd.ErrOrStderr())("  %s", doing) })
	if err != nil {
		return err
	}
	c, err := launch.Make(cmd.Context(), p, name, spec)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("cluster %s is up: Kubernetes %s, %s\n", name, c.Spec().Kubernetes, nodesOf(c))
	if k, hasKubeconfig := c.(interface{ Kubeconfig() (string, error) }); hasKubeconfig {
		path, err := k.Kubeconfig()
		if err != nil {
			return err
		}
		text += fmt.Sprintf("  export KUBECONFIG=%s\n", path)
	}
	text += scenario.Suggest(name, c.Spec(), scenario.All) + fmt.Sprintf("  holdfast down %s\n", name)
	_, err = io.WriteString(cmd.OutOrStdout(), text)
	return err
}

// nodesOf counts a cluster's nodes by purpose. The worker that carries the load is additional to the requested workers.
func nodesOf(c clusters.Cluster) string {
	spec := c.Spec().WithDefaults()
	text := fmt.Sprintf("%d nodes: %d control plane, %d workers, and one more worker that carries the load",
		len(c.Nodes()), spec.ControlPlanes, len(spec.Zones)*spec.WorkersPerZone)
	if spec.SimulatedNodes > 0 {
		text += fmt.Sprintf("; %d without a machine", spec.SimulatedNodes)
	}
	return text
}
