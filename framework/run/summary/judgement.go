package summary

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
)

// WriteJudgement prints what was found in stored records: a line for each promise, the causes and notes of the mutants, and the summary.
func WriteJudgement(out io.Writer, found stored.Judgement) {
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
		_, _ = fmt.Fprintln(out, Of(found.Sum))
	}
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
