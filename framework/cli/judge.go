package cli

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/verdict"
	"github.com/holdfast-ha/holdfast/reports"
)

func judgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "judge RUN",
		Short: "Judge a stored run again, from its record alone",
		Long: `judge reads the folder of a run or of one scenario, and judges every record in it again by the promises in the record.
It needs no cluster and changes nothing. An incomplete or damaged record is Unknown, never Held. A damaged run.json is an error, and
so is a missing record that run.json lists. The memory that judge needs does not grow with the number of requests.

` + exitCodes,
		Example: "  holdfast judge artifacts/latest\n  holdfast judge artifacts/latest/chaos/rolling-update",
		Args:    oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			records, err := history.Records(args[0])
			if err != nil {
				return err
			}
			if len(records) == 0 {
				return fmt.Errorf("judge %s: there is no record in it; give a run's folder, such as artifacts/latest", args[0])
			}
			return judgeAll(cmd.OutOrStdout(), args[0], records)
		},
	}
}

// judgeAll judges records below dir, prints a line for each promise and a summary, and returns the worst outcome.
func judgeAll(out io.Writer, dir string, records []string) error {
	found := stored.Judge(dir, records)
	t := table.NewWriter()
	t.SetOutputMirror(out)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"scenario", "promise", "verdict", "seen"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, AutoMerge: true},
		{Number: 2, WidthMax: 36, WidthMaxEnforcer: text.WrapSoft},
		{Number: 4, WidthMax: 80, WidthMaxEnforcer: text.WrapSoft},
	})
	for _, s := range found.Scenarios {
		name := s.Result.Name
		switch {
		case s.Result.NotSupported != "":
			t.AppendRow(table.Row{name, "", "not supported", s.Result.NotSupported})
		case s.Result.Left():
			t.AppendRow(table.Row{name, "", history.OutcomeInterrupted, s.Result.Interrupted})
		case s.Caught != nil:
			t.AppendRow(table.Row{name, s.Caught.Promise, caughtWord(*s.Caught), s.Caught.Seen})
		}
		for _, v := range s.Verdicts {
			t.AppendRow(table.Row{name, v.Promise, v.Outcome, v.Seen})
		}
		t.AppendSeparator()
	}
	if t.Length() > 0 {
		t.Render()
	}
	writeCauses(out, &found.Causes)
	writeNotes(out, found.Sum)
	if len(found.Sum.Scenarios) > 0 {
		_, _ = fmt.Fprintln(out, summary(found.Sum))
	}
	return besides(outcomeOf(found.Sum), found.Problems...)
}

// writeCauses prints how many mutants were caught for the planted cause, and the other causes that were reported.
func writeCauses(out io.Writer, c *judge.Confusion) {
	agree, of := c.Agree()
	if of == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, "causes: %d of %d mutants were caught for the reason that was planted\n", agree, of)
	for _, planted := range c.Planted {
		for _, reported := range c.Reported {
			if n := c.Count(planted, reported); n > 0 && planted != reported {
				_, _ = fmt.Fprintf(out, "causes: %s was planted, and %s reported (%d)\n", planted, reported, n)
			}
		}
	}
}

// outcomeOf is the exit code of a run. A broken promise takes precedence over an interruption, and an interruption over a harness failure.
func outcomeOf(f history.RunFile) error {
	outcome := run.OutcomeOf(f)
	switch {
	case outcome == verdict.Violated:
	case f.Cut():
		interrupted, notBegun := f.Left()
		return cutShort(f.Interrupted, interrupted, notBegun)
	case run.Failed(f):
		return failedBefore()
	}
	return judged(outcome)
}

// harnessFailed reports whether a scenario could not be judged, and nothing was seen broken.
func harnessFailed(s history.ScenarioResult) bool {
	return s.Error != "" && s.Outcome != string(verdict.Violated)
}

// summary is the last line of a run.
func summary(f history.RunFile) string {
	counts := map[verdict.Outcome]int{}
	mutants, failed, unsupported := mutantsOf(f), 0, ""
	for _, s := range f.Scenarios {
		if s.NotSupported != "" {
			unsupported += "; not supported here: " + s.Name
			continue
		}
		switch {
		case s.Left(): // counted by leftOf
		case harnessFailed(s):
			failed++
		case s.Mutant == nil:
			counts[verdict.Outcome(s.Outcome)]++
		}
	}
	text := fmt.Sprintf("%s held, %d violated, %d unknown", reports.Plural(uint64(counts[verdict.Held]), "scenario"),
		counts[verdict.Violated], counts[verdict.Unknown]+counts[""])
	if failed > 0 {
		text += fmt.Sprintf(", harness failed in %d", failed)
	}
	if mutants.demanded.of+mutants.byChance.of > 0 {
		text += "; " + mutants.String()
	}
	return text + leftOf(f) + unsupported
}
