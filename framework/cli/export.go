package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
	"github.com/holdfast-ha/holdfast/framework/export"
	"github.com/holdfast-ha/holdfast/framework/history"
)

type exportFlags struct {
	vegeta bool
	output string
	lanes  []string
}

func exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export --vegeta RUN",
		Short: "Write the requests of a stored scenario for vegeta report and vegeta plot",
		Long: `export reads the folder of a scenario, or of a run with one scenario, and writes its requests to standard output or to a file, in the format of
'vegeta attack'. It writes the number of requests of each lane to standard error. These numbers agree exactly with the verdicts. The control
lane is exported only if --lane names it.

Each lane is an attack. A request that succeeded only because Go's HTTP client silently sent it again is a failure with the error "masked".
Latencies are measured from when a request was due. Requests that were never sent, or not due under load, are omitted.

'vegeta encode' makes JSON or CSV of it. Everything else reads the files of the record, requests/*.csv, where times are in nanoseconds:

  duckdb -c "SELECT lane, outcome, count(*), max(done_ns - due_ns) / 1e6 AS max_ms
    FROM 'artifacts/latest/chaos/rolling-update/requests/*.csv' GROUP BY ALL"`,
		Example: `  holdfast export --vegeta artifacts/latest/chaos/rolling-update -o all.gob # vegeta report all.gob
  holdfast export --vegeta artifacts/latest/chaos/rolling-update --lane fresh -o a.gob # vegeta plot`,
		Args: terminal.OneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !f.vegeta {
				return exit.Usage(errors.New("export writes for vegeta alone: leave out --vegeta=false, and read requests/*.csv of the record with another tool"))
			}
			return f.run(cmd, args[0])
		},
	}
	cmd.Flags().BoolVar(&f.vegeta, "vegeta", true, "for vegeta, the only tool that export writes for")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write to this file instead of standard output")
	cmd.Flags().StringSliceVar(&f.lanes, "lane", nil, "only these lanes, such as fresh; default: all except the control lane")
	return cmd
}

func (f exportFlags) run(cmd *cobra.Command, dir string) error {
	run, err := export.Open(dir)
	if _, several := errors.AsType[*export.SeveralError](err); several {
		return exit.Usage(err)
	}
	if err != nil {
		return err
	}
	say := terminal.SayTo(cmd.ErrOrStderr())
	if run.Incomplete != "" {
		say("%s: the record is incomplete: %s", run.Header.Scenario, run.Incomplete)
	}
	lanes := make([]history.Lane, len(f.lanes))
	for i, name := range f.lanes {
		lanes[i] = history.Lane(name)
	}
	var counts []export.Counts
	err = export.WriteTo(output.Raw(cmd.OutOrStdout()), f.output, func(out io.Writer) (err error) {
		counts, err = export.Vegeta(out, run, lanes)
		return err
	})
	for _, c := range counts {
		say("%s", c)
	}
	if err == nil && len(counts) == 0 {
		return fmt.Errorf("export %s: it has no requests of its lanes, or of those that --lane names: %q", dir, f.lanes)
	}
	return err
}
