package terminal

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

// NoArgs rejects arguments as a usage error.
func NoArgs(cmd *cobra.Command, args []string) error { return exit.Usage(cobra.NoArgs(cmd, args)) }

// OneArg wants exactly one argument.
func OneArg(cmd *cobra.Command, args []string) error { return wantArgs(cmd, args, 1, "one argument") }

// TwoArgs wants exactly two arguments.
func TwoArgs(cmd *cobra.Command, args []string) error { return wantArgs(cmd, args, 2, "two arguments") }

func wantArgs(cmd *cobra.Command, args []string, n int, words string) error {
	if len(args) == n {
		return nil
	}
	return exit.Usage(fmt.Errorf("want %s, and %d were given: %s", words, len(args), cmd.UseLine()))
}
