// Package cli is holdfast's command line. Each command is one file, which reads flags and calls the package that does the work.
//
// It makes no decisions about clusters, load or verdicts. Package exit has its exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

// Command is the command line. `holdfast version` prints version.
func Command(version string) *cobra.Command {
	var verbose bool
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Disrupt a Kubernetes cluster under load, and prove which promises held",
		Long: `holdfast takes nodes, zones, pods and rollouts away from a real Kubernetes cluster while it sends real requests. It
records what happens, and proves from the record which promises held.

A scenario is a claim about a workload, such as "draining a worker is invisible to clients", with the promises that prove it. A mutant
is a scenario whose workload lacks a good practice. Its promise must break, which proves that holdfast notices.

` + exit.Codes,
		Example: `  holdfast doctor                      # can a cluster be made on this machine?
  holdfast run                         # certify: every scenario of the short profile
  holdfast run chaos/rolling-update    # one scenario
  holdfast test -f k8s/ --url http://web.shop/ --image web.tar   # an application of your own
  holdfast record -- ./upgrade.sh      # what does that do to a cluster that is there already?
  holdfast judge artifacts/latest      # judge a stored run again`,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			slog.SetDefault(slog.New(logHandler(cmd, verbose)))
		},
	}
	root.PersistentFlags().BoolVarP(&verbose, "verbose", "v", false, "write a detailed log to standard error")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return exit.Usage(flagError(cmd, err)) })
	root.AddCommand(
		doctorCommand(), auditCommand(version), planCommand(), rbacCommand(), imageCommand(), upCommand(), healCommand(), downCommand(),
		runCommand(version), initCommand(), testCommand(version), certifyCommand(version), recordCommand(version), diffCommand(), trendCommand(), judgeCommand(), reportCommand(), exportCommand(),
		workloadCommand(), versionCommand(version),
	)
	root.AddCommand(insideCommands()...)
	root.SetUsageTemplate(usageTemplate(root))
	wrapHelp(root)
	completeFlags(root)
	return root
}

// noCommand rejects an unknown command. cobra's own error would not have the exit code of a usage error.
func noCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	meant := "see '" + root.CommandPath() + " --help'"
	if names := root.SuggestionsFor(args[0]); len(names) > 0 {
		meant = "did you mean " + strings.Join(names, " or ") + "?"
	}
	return exit.Usage(fmt.Errorf("unknown command %q for %q: %s", args[0], root.CommandPath(), meant))
}

// Main runs the command line of this process and returns its exit code. A signal cancels the command's context. A second signal ends
// the process, unless it is an echo of the first; see package interrupt.
func Main(ctx context.Context, version string) int {
	stderr := output.Clean(os.Stderr)
	err := interrupt.Main(ctx, stderr, func(ctx context.Context) error {
		root := Command(version)
		root.SetOut(output.Clean(os.Stdout))
		root.SetErr(stderr)
		nameAsCalled(root, os.Args[0])
		return exit.AfterSignal(ctx, root.ExecuteContext(ctx))
	})
	var write *fs.PathError
	if nobodyReads := errors.As(err, &write) && write.Path == os.Stdout.Name() && errors.Is(err, syscall.EPIPE); err != nil && !nobodyReads {
		_, _ = fmt.Fprintln(stderr, "holdfast:", err)
	}
	return exit.Code(err)
}

// pluginFile is the name by which kubectl starts a plugin. krew links it to the executable.
//
// Source: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
const pluginFile = "kubectl-holdfast"

// nameAsCalled makes help and errors of the command line name the command as it was called: "kubectl holdfast" if kubectl called it, because
// a user of the plugin may have no command of the name holdfast.
func nameAsCalled(root *cobra.Command, executable string) {
	if filepath.Base(executable) != pluginFile {
		return
	}
	const called = "kubectl holdfast"
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: called}
	var rename func(*cobra.Command)
	rename = func(c *cobra.Command) {
		c.Example = strings.ReplaceAll("\n"+c.Example, "\n  holdfast ", "\n  "+called+" ")[1:]
		for _, sub := range c.Commands() {
			rename(sub)
		}
	}
	rename(root)
}
