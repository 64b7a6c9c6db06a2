// Package cli is holdfast's command line: one file a command, each a few lines that call the package which does the
// work.
//
// It decides nothing about clusters, load or verdicts. It maps what happened to the exit codes (exit.go), and is the only
// place that does.
package cli

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
)

// Command is the whole command line. Version is what `holdfast version` says.
func Command(version string) *cobra.Command {
	var verbose bool
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Takes a Kubernetes cluster apart under load, and proves which promises held",
		Long: `holdfast takes nodes, zones, pods and rollouts away from a real Kubernetes cluster while real requests flow, and
proves, from what it recorded, which promises held.

` + exitCodes,
		Example: `  holdfast doctor                      # can a cluster be made on this machine?
  holdfast run                         # certify: every scenario of the short profile
  holdfast run chaos/rolling-update    # one scenario
  holdfast judge artifacts/latest      # judge a stored run again`,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			level := slog.LevelWarn
			if verbose {
				level = slog.LevelDebug
			}
			slog.SetDefault(slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level})))
		},
	}
	root.PersistentFlags().BoolVarP(&verbose, "verbose", "v", false, "log what is done in detail, to standard error")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath()))
	})
	root.AddCommand(
		doctorCommand(), auditCommand(version), imageCommand(), upCommand(), healCommand(), downCommand(),
		runCommand(version), certifyCommand(version), diffCommand(), selftestCommand(version), judgeCommand(), reportCommand(), exportCommand(),
		workloadCommand(), versionCommand(version),
	)
	root.AddCommand(insideCommands()...)
	return root
}

// noCommand refuses what is no command of the root's: cobra's own error would not ask for the exit code of a mistake.
func noCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	meant := "see '" + root.CommandPath() + " --help'"
	if names := root.SuggestionsFor(args[0]); len(names) > 0 {
		meant = "did you mean " + strings.Join(names, " or ") + "?"
	}
	return usage(fmt.Errorf("unknown command %q for %q: %s", args[0], root.CommandPath(), meant))
}

// noArgs refuses arguments, as a mistake of usage.
func noArgs(cmd *cobra.Command, args []string) error { return usage(cobra.NoArgs(cmd, args)) }

// oneArg wants exactly one argument.
func oneArg(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return usage(fmt.Errorf("want one argument, and %d were given: %s", len(args), cmd.UseLine()))
}

// sayTo writes lines for a person, such as what is about to be installed.
func sayTo(w io.Writer) func(string, ...any) {
	return func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
}
