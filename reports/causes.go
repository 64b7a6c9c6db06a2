package reports

import (
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// confusion compares the causes that mutants planted with the reported ones; nil if fewer than two mutants name a cause.
func (r *Report) confusion() *Confusion {
	m := r.Matrix()
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

// Matrix counts the mutants by planted and reported cause; nil if fewer than two mutants name a cause.
func (r *Report) Matrix() *judge.Confusion {
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

// MutantNotes are the remarks that belong to every caught mutant, each between before and after: that its server sets a trap, and the
// result of its twin.
func (s *Scenario) MutantNotes(before, after string) (notes string) {
	if s.Mutant == nil {
		return ""
	}
	for _, note := range runfolder.MutantNotes(s.Mutant.Mutant, s.Mutant.TwinNote) {
		notes += before + note + after
	}
	return notes
}

// ConfusionTable is the matrix as a table.
type ConfusionTable struct {
	Agree, Of int
	Reported  []attribution.Cause
	Rows      []ConfusionRow
}

// ConfusionRow has the mutants of one planted cause.
type ConfusionRow struct {
	Planted attribution.Cause
	Fields  []ConfusionField
}

// ConfusionField counts the mutants of a planted cause for which one cause was reported.
type ConfusionField struct {
	Reported attribution.Cause
	N        int
	Agree    bool
}

// NewConfusionTable makes the table of a matrix; nil of nil.
func NewConfusionTable(c *judge.Confusion) *ConfusionTable {
	if c == nil {
		return nil
	}
	t := &ConfusionTable{Reported: c.Reported}
	t.Agree, t.Of = c.Agree()
	for _, planted := range c.Planted {
		row := ConfusionRow{Planted: planted}
		for _, reported := range c.Reported {
			row.Fields = append(row.Fields, ConfusionField{reported, c.Count(planted, reported), planted == reported})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
