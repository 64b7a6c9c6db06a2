package selftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

// Rounds are runs of the same scenarios, each with its own seed, name and folder.
type Rounds struct {
	Base      run.Settings // of all rounds; its Seed, RunID and Dir are the selftest's
	Scenarios []scenario.Spec
	About     time.Duration // estimate for one round
	// Reproduce returns Settings.Reproduce for a seed.
	Reproduce func(seed uint64) func(name, kubernetes string) string
	// Summary sums up a round in one line.
	Summary func(runfolder.File) string
	Out     io.Writer // progress
}

// Repeat runs the report's planned rounds, and writes the report after each of them: a selftest that is killed has lost only the round
// that was running.
func (t *Report) Repeat(ctx context.Context, r Rounds) error {
	_, err := fmt.Fprintf(r.Out, "selftest %s: %d rounds of %d scenarios, about %s\n", r.Base.RunID, t.Asked, len(r.Scenarios),
		(time.Duration(t.Asked) * r.About).Round(time.Minute))
	c := &counter{Rounds: r, report: t, began: time.Now(), err: err}
	_, err = run.Repeat(ctx, r.settings(t.Asked), r.Scenarios, c.after)
	return errors.Join(err, c.err)
}

// settings are the settings of each round.
func (r Rounds) settings(rounds int) []run.Settings {
	all := make([]run.Settings, rounds)
	for i := range all {
		name := fmt.Sprintf(RoundFormat, i+1)
		s := r.Base
		s.RunID, s.Dir, s.Seed = r.Base.RunID+"/"+name, filepath.Join(r.Base.Dir, name), run.RoundSeed(r.Base.Seed, i+1)
		s.Reproduce = r.Reproduce(s.Seed)
		all[i] = s
	}
	return all
}

// counter adds each finished round to the report.
type counter struct {
	Rounds
	report *Report
	began  time.Time
	err    error // the first
}

func (c *counter) after(round int, f runfolder.File) {
	if len(f.Scenarios) == len(c.Scenarios) && !f.Cut() {
		c.report.Whole++
	}
	folder := filepath.Join(c.Base.Dir, fmt.Sprintf(RoundFormat, round+1))
	err := errors.Join(c.report.Add(folder, f), formats.WriteAll(folder), Write(c.Base.Dir, c.report))
	_, said := fmt.Fprintf(c.Out, "\nround %d of %d: %s\nso far: %s%s\n\n", round+1, c.report.Asked, c.Summary(f), c.report.Sentence(), c.left(round+1))
	c.err = cmp.Or(c.err, err, said)
}

// left is how long the remaining rounds will take at the speed of the finished ones.
func (c *counter) left(done int) string {
	if done == c.report.Asked {
		return ""
	}
	left := time.Since(c.began) / time.Duration(done) * time.Duration(c.report.Asked-done)
	return fmt.Sprintf("\nabout %s left", left.Round(time.Minute))
}

// MeasureInstrument measures the instrument and writes the report. Judged is called when the measurement is in the report.
func (t *Report) MeasureInstrument(ctx context.Context, o Options, judged func()) error {
	i, err := Measure(ctx, o)
	t.Instrument = i
	if written := Write(o.Dir, t); err != nil || written != nil {
		return errors.Join(err, written)
	}
	judged()
	o.Say("instrument: " + i.Sentence())
	wrong, unknown := i.Findings()
	for _, f := range wrong {
		o.Say("  wrong: " + f)
	}
	for _, f := range unknown {
		o.Say("  unknown: " + f)
	}
	o.Say("")
	return nil
}
