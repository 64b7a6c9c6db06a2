package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
	"github.com/holdfast-ha/holdfast/framework/export"
	"github.com/holdfast-ha/holdfast/framework/history"
)

type exportFlags struct {
	format string
	output string
	lanes  []string
}

func exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a stored run's requests for vegeta, or as one CSV table for SQL",
		Long: `export reads the folder of a run or of one scenario, and writes its requests to standard output or to a file. It writes the
number of requests of each lane to standard error. These numbers agree exactly with the verdicts. The control lane is exported only if
--lane names it.

--format vegeta, vegeta-json, vegeta-csv: one scenario, in the formats of 'vegeta attack' and 'vegeta encode'. Each lane is an attack.
A request that succeeded only because Go's HTTP client silently sent it again is a failure with the error "masked". Latencies are
measured from when a request was due. Requests that were never sent, or not due under load, are omitted.

--format csv: all requests of a run in one table with the columns run, scenario, proxy_mode, under_load and those of requests/*.csv. Times
are in nanoseconds since the scenario's base. Verdicts count the rows with under_load 1 whose outcome is not unsent. In SQL:

  sqlite3 run.db '.import --csv run.csv requests' "SELECT scenario, lane, count(*) AS requests,
    sum(outcome <> 'ok') AS failed, sum(outcome = 'masked') AS masked,
    max(done_ns - due_ns) / 1e6 AS max_ms FROM requests
    WHERE under_load = '1' AND outcome <> 'unsent' GROUP BY scenario, lane"

sqlite3 imports numbers as text: compare CAST(status AS INTEGER) with a number.`,
		Example: `  holdfast export artifacts/latest/chaos/rolling-update -o all.gob # then: vegeta report all.gob
  holdfast export artifacts/latest/chaos/rolling-update --lane fresh -o fresh.gob # vegeta plot
  holdfast export artifacts/latest --format csv --output run.csv`,
		Args: terminal.OneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(export.Formats(), f.format) {
				return exit.Usage(fmt.Errorf("format %q: want one of %s", f.format, strings.Join(export.Formats(), ", ")))
			}
			return f.run(cmd, args[0])
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "vegeta", "one of "+strings.Join(export.Formats(), ", "))
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write to this file instead of standard output")
	cmd.Flags().StringSliceVar(&f.lanes, "lane", nil, "only these lanes, such as fresh; default: all except the control lane")
	return cmd
}

func (f exportFlags) run(cmd *cobra.Command, dir string) error {
	runs, err := export.Open(dir)
	if err != nil {
		return err
	}
	if f.format != export.FormatCSV {
		runs, err = export.Loaded(dir, runs)
		var several *export.SeveralError
		if errors.As(err, &several) {
			return exit.Usage(err)
		}
		if err != nil {
			return err
		}
	}
	say := terminal.SayTo(cmd.ErrOrStderr())
	for _, run := range runs {
		if run.Incomplete != "" {
			say("%s: the record is incomplete: %s", run.Header.Scenario, run.Incomplete)
		}
	}
	var counts []export.Counts
	err = export.WriteTo(cmd.OutOrStdout(), f.output, func(out io.Writer) (err error) {
		counts, err = f.write(out, runs)
		return err
	})
	for _, c := range counts {
		say("%s", c)
	}
	if err == nil && len(counts) == 0 {
		return fmt.Errorf("export %s: it has no requests%s", dir, onLanes(f.lanes))
	}
	return err
}

func (f exportFlags) write(out io.Writer, runs []history.Run) ([]export.Counts, error) {
	lanes := make([]history.Lane, len(f.lanes))
	for i, name := range f.lanes {
		lanes[i] = history.Lane(name)
	}
	if f.format == export.FormatCSV {
		return export.CSV(out, runs, lanes)
	}
	return export.Vegeta(out, runs[0], f.format, lanes)
}

// onLanes is the end of a sentence about requests.
func onLanes(lanes []string) string {
	if len(lanes) == 0 {
		return ""
	}
	return " of lane " + strings.Join(lanes, ", ")
}
