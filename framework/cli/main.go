package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

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
