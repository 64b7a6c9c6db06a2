package reports

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// confusion lays the causes that the mutants planted against those that were reported; nil when fewer than two name one.
func (m Model) confusion() *judge.Confusion {
	var c judge.Confusion
	for i := range m.Scenarios {
		if s := &m.Scenarios[i]; s.Mutant != nil {
			c.Add(*s.Mutant, s.caught())
		}
	}
	if _, of := c.Agree(); of < 2 {
		return nil
	}
	return &c
}

// caught is the verdict on the mutant; one that says nothing where there is none.
func (s *Scenario) caught() verdict.Verdict {
	if s.Caught == nil {
		return verdict.Verdict{}
	}
	return *s.Caught
}

// mutantNotes are what must be said wherever it is said that a mutant was caught, each between two marks: that its server sets a
// trap, and what became of its twin.
func (s *Scenario) mutantNotes(before, after string) (notes string) {
	if s.Mutant == nil {
		return ""
	}
	for _, note := range s.Mutant.Notes(s.TwinNote) {
		notes += before + note + after
	}
	return notes
}

// markdownCauses says of each scenario in which requests failed why they did.
func markdownCauses(b *strings.Builder, m Model) {
	begun := false
	for i := range m.Scenarios {
		s := &m.Scenarios[i]
		for n, c := range s.Causes {
			if !begun {
				b.WriteString("\n### Failed requests by cause\n\n| scenario | failed | cause | how it is known |\n| --- | ---: | --- | --- |\n")
				begun = true
			}
			name := ""
			if n == 0 {
				name = text(s.Name)
			}
			fmt.Fprintf(b, "| %s | %s | **%s**: %s | %s |\n", name, count(c.Failed), text(string(c.Cause)), text(c.Cause.Words()), text(c.Known))
		}
	}
}

// markdownConfusion draws the matrix.
func markdownConfusion(b *strings.Builder, c *judge.Confusion) {
	t := newConfusionTable(c)
	if t == nil {
		return
	}
	fmt.Fprintf(b, "\n### Planted cause against reported cause\n\n%d of %d mutants were caught for the reason that was planted.\n\n| planted / reported |",
		t.Agree, t.Of)
	for _, reported := range t.Reported {
		fmt.Fprintf(b, " %s |", text(string(reported)))
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(t.Reported)) + "\n")
	for _, row := range t.Rows {
		fmt.Fprintf(b, "| %s |", text(string(row.Planted)))
		for _, f := range row.Fields {
			switch {
			case f.N == 0:
				b.WriteString(" |")
			case f.Agree:
				fmt.Fprintf(b, " **%d** |", f.N)
			default:
				fmt.Fprintf(b, " %d |", f.N)
			}
		}
		b.WriteString("\n")
	}
}

// confusionTable is the matrix as it is drawn.
type confusionTable struct {
	Agree, Of int
	Reported  []attribution.Cause
	Rows      []confusionRow
}

type confusionRow struct {
	Planted attribution.Cause
	Fields  []confusionField
}

type confusionField struct {
	Reported attribution.Cause
	N        int
	Agree    bool
}

func newConfusionTable(c *judge.Confusion) *confusionTable {
	if c == nil {
		return nil
	}
	t := &confusionTable{Reported: c.Reported}
	t.Agree, t.Of = c.Agree()
	for _, planted := range c.Planted {
		row := confusionRow{Planted: planted}
		for _, reported := range c.Reported {
			row.Fields = append(row.Fields, confusionField{reported, c.Count(planted, reported), planted == reported})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
