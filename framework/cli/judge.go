package cli

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/verdict"
	"github.com/holdfast-ha/holdfast/reports"
)

func judgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "judge RUN",
		Short: "Judge a stored run again, from its record alone",
		Long: `judge reads a run's folder, or one scenario's, and judges every record in it again, by the promises that the record itself
holds. It needs no cluster and changes nothing. A record that was cut off or damaged is Unknown, never Held. A damaged
run.json is an error, and so is a record that it lists and that is not there. Memory does not grow with the requests.`,
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

// judgeAll judges records below dir, writes a line for each promise and one that sums up, and ends with the worst outcome. A record that cannot
// be read keeps none of the others from being judged.
func judgeAll(out io.Writer, dir string, records []string) error {
	t := table.NewWriter()
	t.SetOutputMirror(out)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"scenario", "promise", "verdict", "seen"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, AutoMerge: true},
		{Number: 2, WidthMax: 36, WidthMaxEnforcer: text.WrapSoft},
		{Number: 4, WidthMax: 80, WidthMaxEnforcer: text.WrapSoft},
	})
	var sum history.RunFile // of what was judged, as in run.json
	var unread []error
	headers := make(map[string]history.Header)
	var causes judge.Confusion
	for _, record := range records {
		run, err := history.Open(filepath.Join(dir, filepath.FromSlash(record)))
		if err != nil {
			unread = append(unread, err)
			continue
		}
		headers[record] = run.Header
		verdicts := judge.Judge(run)
		if why := judge.Unsupported(run, verdicts); why != "" {
			t.AppendRow(table.Row{run.Header.Scenario, "", "not supported", why})
			t.AppendSeparator()
			sum.Scenarios = append(sum.Scenarios, history.ScenarioResult{Name: run.Header.Scenario, NotSupported: why})
			continue
		}
		found := judge.FoundBy(run, verdicts)
		outcome, _ := found.Sum()
		one := history.ScenarioResult{Name: run.Header.Scenario, Mutant: run.Header.Mutant, Outcome: string(outcome)}
		if err := found.Put(&one); err != nil {
			unread = append(unread, err)
		}
		cut := one.CutShort(run.Interrupted())
		sum.Scenarios = append(sum.Scenarios, one)
		switch {
		case cut:
			t.AppendRow(table.Row{one.Name, "", history.OutcomeInterrupted, one.Interrupted})
			verdicts = nil
		case found.Caught != nil:
			causes.Add(*run.Header.Mutant, *found.Caught)
			t.AppendRow(table.Row{one.Name, found.Caught.Promise, caughtWord(*found.Caught), found.Caught.Seen})
		}
		for _, v := range verdicts {
			t.AppendRow(table.Row{run.Header.Scenario, v.Promise, v.Outcome, v.Seen})
		}
		t.AppendSeparator()
	}
	if t.Length() > 0 {
		t.Render()
	}
	left, problems := missing(dir, records, headers)
	sum.Scenarios, sum.Interrupted = append(sum.Scenarios, left.Scenarios...), left.Interrupted
	writeCauses(out, &causes)
	writeNotes(out, sum)
	if len(sum.Scenarios) > 0 {
		_, _ = fmt.Fprintln(out, summary(sum))
	}
	return besides(outcomeOf(sum), append(unread, problems...)...)
}

// writeCauses says how many mutants were caught for the reason that they plant, and which were not.
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

// outcomeOf a run as an exit code: a promise that was broken counts before an interruption, and that before a harness that failed.
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

// summary is the last line of a run.
func summary(f history.RunFile) string {
	counts := map[verdict.Outcome]int{}
	mutants, unsupported := mutantsOf(f), ""
	for _, s := range f.Scenarios {
		if s.NotSupported != "" {
			unsupported += "; not supported here: " + s.Name
			continue
		}
		if s.Left() { // see leftOf
			continue
		}
		if s.Mutant != nil {
			continue
		}
		counts[verdict.Outcome(s.Outcome)]++
	}
	text := fmt.Sprintf("%s held, %d violated, %d unknown", reports.Plural(uint64(counts[verdict.Held]), "scenario"),
		counts[verdict.Violated], counts[verdict.Unknown]+counts[""])
	if mutants.demanded.of+mutants.byChance.of > 0 {
		text += "; " + mutants.String()
	}
	return text + leftOf(f) + unsupported
}
