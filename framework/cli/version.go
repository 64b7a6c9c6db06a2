package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
)

func versionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of holdfast",
		Example: "  holdfast version",
		Args:    terminal.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "holdfast %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
