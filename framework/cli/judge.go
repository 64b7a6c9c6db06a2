package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
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

// judgeAll judges records below dir, writes a line for each promise, and ends with the worst outcome. A record that cannot
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
	worst := invariant.Held
	var unread []error
	headers := make(map[string]history.Header)
	var causes invariant.Confusion
	var outcomes history.RunFile
	tried := false
	for _, record := range records {
		run, err := history.Open(filepath.Join(dir, filepath.FromSlash(record)))
		if err != nil {
			unread = append(unread, err)
			continue
		}
		headers[record] = run.Header
		verdicts := invariant.Judge(run)
		if why := invariant.Unsupported(run, verdicts); why != "" {
			t.AppendRow(table.Row{run.Header.Scenario, "", "not supported", why})
			t.AppendSeparator()
			continue
		}
		tried = true
		found := invariant.FoundBy(run, verdicts)
		outcome, _ := found.Sum()
		worst = worse(worst, outcome)
		outcomes.Scenarios = append(outcomes.Scenarios, history.ScenarioResult{
			Name: run.Header.Scenario, Mutant: run.Header.Mutant, Outcome: string(outcome),
		})
		if found.Caught != nil {
			causes.Add(*run.Header.Mutant, *found.Caught)
			verdicts = append([]invariant.Verdict{*found.Caught}, verdicts...)
		}
		for _, v := range verdicts {
			t.AppendRow(table.Row{run.Header.Scenario, v.Promise, v.Outcome, v.Seen})
		}
		t.AppendSeparator()
	}
	if t.Length() > 0 {
		t.Render()
	}
	if !tried {
		worst = invariant.Unknown
	}
	unread = append(unread, missing(dir, records, headers)...)
	writeCauses(out, &causes)
	writeNotes(out, outcomes)
	return besides(judged(worst), unread...)
}

// writeCauses says how many mutants were caught for the reason that they plant, and which were not.
func writeCauses(out io.Writer, c *invariant.Confusion) {
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

// worse of two outcomes: Violated, then Unknown, then Held.
func worse(a, b invariant.Outcome) invariant.Outcome {
	return invariant.Overall([]invariant.Verdict{{Outcome: a}, {Outcome: b}})
}

// outcomeOf a run as an exit code: a promise that was broken counts before a harness that failed.
func outcomeOf(f history.RunFile) error {
	outcome := scenario.OutcomeOf(f)
	if outcome != invariant.Violated && scenario.Failed(f) {
		return codeError{ExitFailed, errors.New("the harness or its environment failed before everything could be judged; see above")}
	}
	return judged(outcome)
}

// summary is the last line of a run.
func summary(f history.RunFile) string {
	counts := map[invariant.Outcome]int{}
	mutants, unsupported := mutantsOf(f), ""
	for _, s := range f.Scenarios {
		if s.NotSupported != "" {
			unsupported += "; not supported here: " + s.Name
			continue
		}
		if s.Mutant != nil {
			continue
		}
		counts[invariant.Outcome(s.Outcome)]++
	}
	return fmt.Sprintf("%d scenarios held, %d violated, %d unknown; %s",
		counts[invariant.Held], counts[invariant.Violated], counts[invariant.Unknown]+counts[""], mutants) + unsupported
}
