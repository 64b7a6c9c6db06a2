package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

// repetition is what rounds have found so far.
type repetition struct {
	out    io.Writer
	rounds []run.Settings
	began  time.Time
	found  roundsFound
	all    runfolder.File // the results of all rounds
	lacks  []string
	errs   []error
}

// rounds runs the chosen scenarios again and again. Each finished round is reported, so an interruption loses none.
func (f runFlags) rounds(ctx context.Context, out io.Writer, base run.Settings, chosen []scenario.Spec) error {
	r := &repetition{out: out, rounds: f.settingsOfRounds(base), began: time.Now()}
	_, err := fmt.Fprintf(out, "run %s: %d rounds of %d scenarios, about %s\n", base.RunID, f.repeat, len(chosen), f.about(chosen).Round(time.Minute))
	whole, failed := run.Repeat(ctx, r.rounds, chosen, r.after)
	if len(r.all.Scenarios) == 0 { // no scenario was begun
		return errors.Join(failed, err)
	}
	if whole < f.repeat {
		r.lacks = append(r.lacks, "not every round was run")
	}
	interrupted, notBegun := r.all.Left()
	outcome := exit.Run(judge.Sum(r.all.Scenarios, r.lacks), r.all.Interrupted, interrupted, notBegun)
	_, said := fmt.Fprintf(out, "\n%d of %d rounds were run: %s\n", whole, f.repeat, &r.found)
	return exit.Besides(outcome, append(r.errs, err, failed, said)...)
}

// settingsOfRounds are the settings of each round: its own name, folder and seed.
func (f runFlags) settingsOfRounds(base run.Settings) []run.Settings {
	all := make([]run.Settings, f.repeat)
	for i := range all {
		name := fmt.Sprintf("round-%03d", i+1)
		s := base
		s.RunID, s.Dir, s.Seed = base.RunID+"/"+name, filepath.Join(base.Dir, name), run.RoundSeed(base.Seed, i+1)
		s.Reproduce = f.again(s.Seed)
		all[i] = s
	}
	return all
}

// about is how long all rounds take, by the scenarios' own estimates.
func (f runFlags) about(chosen []scenario.Spec) (sum time.Duration) {
	for _, s := range chosen {
		sum += s.About
	}
	return sum * time.Duration(f.repeat)
}

// after reports a round that was begun.
func (r *repetition) after(round int, file runfolder.File) {
	r.found.Add(file)
	r.all.Scenarios = append(r.all.Scenarios, file.Scenarios...)
	r.all.Interrupted = cmp.Or(r.all.Interrupted, file.Interrupted)
	r.lacks = append(r.lacks, judge.Lacks(file)...)
	dir := r.rounds[round].Dir
	text := fmt.Sprintf("\nround %d of %d: %s\nreport: %s\n", round+1, len(r.rounds), summaryOf(file), filepath.Join(dir, formats.HTMLFile))
	if file.Cut() {
		text += "continue this round: holdfast run --resume " + dir + "\n"
	}
	left := time.Since(r.began) / time.Duration(round+1) * time.Duration(len(r.rounds)-round-1)
	_, said := fmt.Fprintf(r.out, "%sso far, with about %s left: %s\n\n", text, left.Round(time.Minute), &r.found)
	r.errs = append(r.errs, formats.WriteAll(dir), said)
}
