package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
)

func judgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "judge RUN",
		Short: "Judge a stored run again, from its record alone",
		Long: `judge reads the folder of a run or of one scenario, and judges every record in it again by the promises in the record.
It needs no cluster and changes nothing. An incomplete or damaged record is Unknown, never Held, and so is a run that did not end. A damaged
run.json is an error, and so is a missing record that run.json lists. A scenario in which the harness failed stays failed. The memory that judge needs does not grow with the number of requests.

` + exit.Codes,
		Example: "  holdfast judge artifacts/latest\n  holdfast judge artifacts/latest/chaos/rolling-update",
		Args:    oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			records, err := runfolder.Records(args[0])
			if err != nil {
				return err
			}
			if len(records) == 0 {
				return fmt.Errorf("judge %s: there is no record in it; give a run's folder, such as artifacts/latest", args[0])
			}
			found := stored.Judge(args[0], records)
			writeJudgement(cmd.OutOrStdout(), found)
			interrupted, notBegun := found.Sum.Left()
			worth := judge.Sum(found.Sum.Scenarios, found.Lacks)
			return exit.Besides(exit.Run(worth, found.Sum.Interrupted, interrupted, notBegun), found.Problems...)
		},
	}
}

// outcomeOf is the exit code of a run.
func outcomeOf(f runfolder.File) error {
	interrupted, notBegun := f.Left()
	return exit.Run(judge.WorthOf(f), f.Interrupted, interrupted, notBegun)
}
