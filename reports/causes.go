package reports

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// confusion compares the causes that mutants planted with the reported ones; nil if fewer than two mutants name a cause.
func (r *Report) confusion() *Confusion {
	m := r.matrix()
	if m == nil {
		return nil
	}
	c := &Confusion{Pairs: []ConfusionPair{}}
	c.Agree, c.Of = m.Agree()
	for _, planted := range m.Planted {
		for _, reported := range m.Reported {
			if n := m.Count(planted, reported); n > 0 {
				c.Pairs = append(c.Pairs, ConfusionPair{planted, reported, n})
			}
		}
	}
	return c
}

func (r *Report) matrix() *judge.Confusion {
	var m judge.Confusion
	for i := range r.Scenarios {
		mutant := r.Scenarios[i].Mutant
		if mutant == nil {
			continue
		}
		var caught verdict.Verdict // reports no cause
		if mutant.Verdict != nil {
			caught = mutant.Verdict.Recorded()
		}
		m.Add(mutant.Mutant, caught)
	}
	if _, of := m.Agree(); of < 2 {
		return nil
	}
	return &m
}

// mutantNotes are the remarks that belong to every caught mutant, each between before and after: that its server sets a trap, and the
// result of its twin.
func (s *Scenario) mutantNotes(before, after string) (notes string) {
	if s.Mutant == nil {
		return ""
	}
	for _, note := range s.Mutant.Notes(s.Mutant.TwinNote) {
		notes += before + note + after
	}
	return notes
}

// markdownCauses lists why requests failed, by scenario.
func markdownCauses(b *strings.Builder, r Report) {
	begun := false
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for n, c := range s.Causes {
			if !begun {
				b.WriteString("\n### Failed requests by cause\n\n| scenario | failed | cause | how it is known |\n| --- | ---: | --- | --- |\n")
				begun = true
			}
			name := ""
			if n == 0 {
				name = text(s.Name)
			}
			fmt.Fprintf(b, "| %s | %s | **%s**: %s | %s |\n", name, count(c.Failed), text(string(c.Cause)), text(c.Words), text(c.Known))
		}
	}
}

// markdownConfusion writes the matrix of planted and reported causes.
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

// confusionTable is the matrix as a table.
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
