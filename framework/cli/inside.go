package cli

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters/balancer"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/clusters/nodenet"
	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

// insideCommands run in containers and on nodes, where holdfast's own executable is the only program that is sure to be there, or below holdfast
// itself.
func insideCommands() []*cobra.Command {
	return []*cobra.Command{probeCommand(), nodeNetworkCommand(), loadBalancerCommand(), pluginCommand()}
}

func probeCommand() *cobra.Command {
	return &cobra.Command{
		Use: engine.ProbeCommand, Short: "Check from inside of a container that it is privileged", Args: noArgs, Hidden: true,
		Example: "  holdfast " + engine.ProbeCommand,
		RunE: func(*cobra.Command, []string) error {
			if err := engine.Probe(); err != nil {
				return exit.With(engine.ProbeRefused, err)
			}
			return nil
		},
	}
}

func nodeNetworkCommand() *cobra.Command {
	return &cobra.Command{
		Use: nodenet.Command, Short: "Maintain the pod network of the node that this process runs on", Args: noArgs, Hidden: true,
		Example: "  holdfast " + nodenet.Command,
		RunE:    func(cmd *cobra.Command, _ []string) error { return nodenet.Run(cmd.Context()) },
	}
}

func loadBalancerCommand() *cobra.Command {
	var bootstrap string
	cmd := &cobra.Command{
		Use: balancer.Command, Short: "Balance the load of several control planes in place of Envoy", Args: noArgs, Hidden: true,
		Example: "  holdfast " + balancer.Command + " -c /home/envoy/envoy.yaml",
		RunE:    func(cmd *cobra.Command, _ []string) error { return balancer.Run(cmd.Context(), bootstrap) },
	}
	cmd.Flags().StringVarP(&bootstrap, "config", "c", "/home/envoy/envoy.yaml", "Envoy's bootstrap file")
	return cmd
}

func pluginCommand() *cobra.Command {
	return &cobra.Command{
		Use: existing.PluginCommand + " PROGRAM [ARGUMENT ...]", Short: "Run a credential plugin of a kubeconfig, with a time limit", Hidden: true,
		Example: "  holdfast " + existing.PluginCommand + " aws eks get-token --cluster-name staging", DisableFlagParsing: true, // they are the plugin's
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
				return cmd.Help()
			}
			return existing.RunPlugin(cmd.Context(), existing.PluginLimit, args, output.Raw(cmd.OutOrStdout()), output.Raw(cmd.ErrOrStderr()))
		},
	}
}
