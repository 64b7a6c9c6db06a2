package cli

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// insideCommands run in containers and on nodes, where holdfast's own executable is the only program that is sure to be there.
func insideCommands() []*cobra.Command {
	return []*cobra.Command{probeCommand()}
}

func probeCommand() *cobra.Command {
	return &cobra.Command{
		Use: engine.ProbeCommand, Short: "Check from inside of a container that it is privileged", Args: noArgs, Hidden: true,
		Example: "  holdfast " + engine.ProbeCommand,
		RunE: func(*cobra.Command, []string) error {
			if err := engine.Probe(); err != nil {
				return codeError{engine.ProbeRefused, err}
			}
			return nil
		},
	}
}
