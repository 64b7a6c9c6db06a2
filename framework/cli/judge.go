package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/summary"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

func judgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "judge RUN",
		Short: "Judge a stored run again, from its record alone",
		Long: `judge reads the folder of a run or of one scenario, and judges every record in it again by the promises in the record.
It needs no cluster and changes nothing. An incomplete or damaged record is Unknown, never Held. A damaged run.json is an error, and
so is a missing record that run.json lists. The memory that judge needs does not grow with the number of requests.

` + exit.Codes,
		Example: "  holdfast judge artifacts/latest\n  holdfast judge artifacts/latest/chaos/rolling-update",
		Args:    terminal.OneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			records, err := runfolder.Records(args[0])
			if err != nil {
				return err
			}
			if len(records) == 0 {
				return fmt.Errorf("judge %s: there is no record in it; give a run's folder, such as artifacts/latest", args[0])
			}
			found := stored.Judge(args[0], records)
			summary.WriteJudgement(cmd.OutOrStdout(), found)
			return exit.Besides(outcomeOf(found.Sum), found.Problems...)
		},
	}
}

// outcomeOf is the exit code of a run. A broken promise takes precedence over an interruption, and an interruption over a harness failure.
func outcomeOf(f runfolder.File) error {
	outcome := run.OutcomeOf(f)
	switch {
	case outcome == verdict.Violated:
	case f.Cut():
		interrupted, notBegun := f.Left()
		return exit.CutShort(f.Interrupted, interrupted, notBegun)
	case run.Failed(f):
		return exit.FailedBefore()
	}
	return exit.Judged(outcome)
}
