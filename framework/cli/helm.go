package cli

import (
	"context"
	"io"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/launch"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/chart"
)

// helmOf renders charts. If helm cannot be compiled, it is not the command line that is wrong.
func helmOf(out io.Writer) *chart.Helm {
	compile := launch.Compiler(out)
	return &chart.Helm{Compile: func(ctx context.Context, p workloads.Program) (string, error) {
		path, err := compile(ctx, p)
		if err != nil {
			return "", exit.With(exit.Failed, err)
		}
		return path, nil
	}}
}
