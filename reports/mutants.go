package reports

import (
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// confusion compares the causes that mutants planted with the reported ones; nil if fewer than two mutants name a cause.
func (r *Report) confusion() *Confusion {
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
	c := &Confusion{Pairs: []ConfusionPair{}, Planted: m.Planted, Reported: m.Reported}
	if c.Agree, c.Of = m.Agree(); c.Of < 2 {
		return nil
	}
	for _, planted := range m.Planted {
		for _, reported := range m.Reported {
			if n := m.Count(planted, reported); n > 0 {
				c.Pairs = append(c.Pairs, ConfusionPair{planted, reported, n})
			}
		}
	}
	return c
}

// Count is how many mutants planted the one cause and were reported with the other.
func (c *Confusion) Count(planted, reported attribution.Cause) int {
	for _, pair := range c.Pairs {
		if pair.Planted == planted && pair.Reported == reported {
			return pair.Mutants
		}
	}
	return 0
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
