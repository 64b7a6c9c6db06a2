package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/instrument"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
	"github.com/holdfast-ha/holdfast/reports"
)

// selftestFlags are what `holdfast selftest` was told.
type selftestFlags struct {
	runFlags
	runs  int
	from  []string
	judge bool

	noCluster, noInstrument bool
	outages, soak           int
	losses                  time.Duration
}

// maxRounds bounds a selftest: beyond it nothing is learnt any more, and folders get longer names.
const maxRounds = 999

// The limits of each part: each takes less than half a day.
const (
	maxSoak    = 50_000_000
	maxOutages = 50_000
	maxLosses  = 12 * time.Hour
)

func selftestCommand(version string) *cobra.Command {
	var f selftestFlags
	cmd := &cobra.Command{
		Use:   "selftest [SCENARIO ...]",
		Short: "Measure the harness: how often it catches what is broken, and how often it cries wolf",
		Long: `selftest runs every scenario of the scope, or those named, again and again, each time with another seed, and counts: of the
mutants, which are broken on purpose, how many runs were caught; of the others, which should hold, how many were called Violated.
It writes selftest.md and selftest.json after every round; each round is a run of its own, below the selftest's folder.

Before that it measures load and record as an instrument, without a cluster, in three minutes: the shortest planted outages that
are always seen, single lost requests, and a soak, of which no request may be called failed.

--from adds up stored runs instead, of selftests and of 'holdfast run', and makes no cluster: so a certification can be made of
several nights. With --judge their records are judged anew, so that it says how good today's judgement is.

Exit codes: 0 every mutant was caught and nothing else was Violated; 1 a miss or a false alarm; 3 the harness failed before
everything could be judged; 5 something is Unknown; 130 and 143 the selftest was interrupted.`,
		Example: `  holdfast selftest
  holdfast selftest --no-cluster --soak 1000000
  holdfast selftest --runs 10 chaos/rolling-update mutants/no-prestop
  holdfast selftest --from artifacts/20261121-203000 --from artifacts/20261122-203000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.names = args
			if len(f.from) > 0 {
				return f.addUp(cmd.OutOrStdout())
			}
			chosen, _, err := f.choose()
			if err == nil {
				err = f.validate()
			}
			if err != nil {
				return usage(err)
			}
			return f.measure(cmd, version, chosen)
		},
	}
	f.common(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.runs, "runs", 3, "of every scenario, each with its own seed")
	flags.StringArrayVar(&f.from, "from", nil, "add up the stored runs in this folder, and run nothing; can be repeated")
	flags.BoolVar(&f.noCluster, "no-cluster", false, "measure the instrument alone")
	flags.BoolVar(&f.noInstrument, "no-instrument", false, "run the rounds alone")
	flags.IntVar(&f.outages, "outages", 100, "planted outages of each length; 0: none")
	flags.DurationVar(&f.losses, "losses", 55*time.Second, "of load in which one request of 10,000 is lost; 0: none")
	flags.IntVar(&f.soak, "soak", 100_000, "requests, at 2,000 a second; 0: none")
	flags.BoolVar(&f.judge, "judge", false, "with --from: judge the records anew")
	completeRun(cmd)
	return cmd
}

func (f selftestFlags) validate() error {
	if f.runs < 1 || f.runs > maxRounds {
		return fmt.Errorf("--runs %d: want 1 to %d", f.runs, maxRounds)
	}
	if f.noCluster && (f.noInstrument || len(f.names) > 0) {
		return errors.New("--no-cluster measures the instrument: without it, or with scenarios, nothing is left to do")
	}
	switch {
	case f.soak < 0 || f.soak > maxSoak:
		return fmt.Errorf("--soak %d: want 0 to %d requests", f.soak, maxSoak)
	case f.outages < 0 || f.outages > maxOutages:
		return fmt.Errorf("--outages %d: want 0 to %d of each length", f.outages, maxOutages)
	case f.losses < 0 || f.losses > maxLosses:
		return fmt.Errorf("--losses %s: want 0 to %s", f.losses, maxLosses)
	}
	if f.judge {
		return errors.New("--judge without --from: what is run is judged")
	}
	return f.runFlags.validate()
}

// addUp sums stored runs up, and writes what it found into a folder of its own.
func (f selftestFlags) addUp(out io.Writer) error {
	if len(f.names) > 0 {
		return usage(errors.New("--from with scenarios: it adds up whatever was run"))
	}
	t := reports.NewSelftest("")
	for _, folder := range f.from {
		if err := t.AddStored(folder, f.judge); err != nil {
			return err
		}
	}
	id, err := claimRun(f.artifacts, time.Now())
	if err != nil {
		return fmt.Errorf("make a folder for the sum: %w", err)
	}
	t.ID = id
	return concluded(out, filepath.Join(f.artifacts, id), t)
}

// measure measures the instrument, and runs the rounds.
func (f selftestFlags) measure(cmd *cobra.Command, version string, chosen []scenario.Spec) error {
	if f.noCluster {
		f.runs, chosen = 0, nil
	}
	if err := heldBy(f.cluster); err != nil {
		return err
	}
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	progress := run.NewProgress(out, f.runs*len(chosen))
	back, err := f.backing(ctx, out, progress)
	if err != nil {
		return err
	}
	if chosen, err = f.onCluster(ctx, back, chosen, progress.Note); err != nil {
		return err
	}
	base, err := f.settings(ctx, version, out, back, progress)
	if err != nil {
		return err
	}
	t := reports.NewSelftest(base.RunID)
	t.Asked = f.runs
	var errs []error
	if !f.noInstrument {
		errs = append(errs, f.instrument(ctx, out, base, t))
	}
	if !f.noCluster && ctx.Err() == nil { // an instrument that cannot be measured costs no night of rounds
		errs = append(errs, f.repeat(ctx, out, base, chosen, t))
	}
	return besides(concluded(out, base.Dir, t), errs...)
}

// backing of the rounds; none without a cluster.
func (f selftestFlags) backing(ctx context.Context, out io.Writer, p *run.Progress) (backing, error) {
	if f.noCluster {
		return backing{Provider: none{}}, nil
	}
	return provider(ctx, f.provider, out, p.Say)
}

// none provides nothing.
type none struct{ clusters.Provider }

func (f selftestFlags) instrument(ctx context.Context, out io.Writer, base run.Settings, t *reports.Selftest) error {
	say := sayTo(out)
	i, err := instrument.Measure(ctx, instrument.Options{
		Dir: base.Dir, Seed: base.Seed, Trials: f.outages, Losses: f.losses, Soak: f.soak, Say: func(line string) { say("%s", line) },
	})
	t.Instrument = i
	if written := reports.WriteSelftest(base.Dir, t); err != nil || written != nil {
		return errors.Join(err, written)
	}
	base.Judged() // it was the instrument that was
	say("instrument: %s", i.Sentence())
	wrong, unknown := i.Findings()
	for _, f := range wrong {
		say("  wrong: %s", f)
	}
	for _, f := range unknown {
		say("  unknown: %s", f)
	}
	say("")
	return nil
}

// repeat runs the rounds.
func (f selftestFlags) repeat(ctx context.Context, out io.Writer, base run.Settings, chosen []scenario.Spec, t *reports.Selftest) error {
	sayTo(out)("selftest %s: %d rounds of %d scenarios, about %s", base.RunID, f.runs, len(chosen),
		(time.Duration(f.runs) * about(chosen)).Round(time.Minute))
	w := &watcher{ctx: ctx, out: out, t: t, dir: base.Dir, began: time.Now(), scenarios: len(chosen)}
	_, err := run.Repeat(ctx, f.rounds(base), chosen, w.after)
	return errors.Join(err, w.err)
}

// rounds are the settings of each: a run of its own, below the whole's folder.
func (f selftestFlags) rounds(base run.Settings) []run.Settings {
	all := make([]run.Settings, f.runs)
	for i := range all {
		name := fmt.Sprintf(reports.RoundFormat, i+1)
		s, g := base, f.runFlags
		s.RunID, s.Dir, s.Seed = base.RunID+"/"+name, filepath.Join(base.Dir, name), run.RoundSeed(base.Seed, i+1)
		g.seed = s.Seed
		s.Reproduce = g.reproduce
		all[i] = s
	}
	return all
}

// about is how long a round takes, by what its scenarios say of themselves.
func about(chosen []scenario.Spec) (sum time.Duration) {
	for _, s := range chosen {
		sum += s.About
	}
	return sum
}

// watcher keeps the count of a selftest, round by round.
type watcher struct {
	ctx       context.Context
	out       io.Writer
	t         *reports.Selftest
	dir       string
	began     time.Time
	scenarios int
	err       error // the first
}

// after adds a round, and writes down what is known by now: a selftest that is killed has lost the round at hand alone, and
// of that no more than the count.
func (w *watcher) after(round int, f history.RunFile) {
	if len(f.Scenarios) == w.scenarios && !f.Cut() {
		w.t.Whole++
	}
	folder := filepath.Join(w.dir, fmt.Sprintf(reports.RoundFormat, round+1))
	err := errors.Join(w.t.Add(folder, f), reports.WriteAll(folder), reports.WriteSelftest(w.dir, w.t))
	_, said := fmt.Fprintf(w.out, "\nround %d of %d: %s\nso far: %s%s\n\n", round+1, w.t.Asked, summary(f), w.t.Sentence(), w.left(round+1))
	w.err = cmp.Or(w.err, err, said)
}

// left is how long the rest will take, if it takes as long as what was done.
func (w *watcher) left(done int) string {
	if done == w.t.Asked {
		return ""
	}
	left := time.Since(w.began) / time.Duration(done) * time.Duration(w.t.Asked-done)
	return fmt.Sprintf("\nabout %s left", left.Round(time.Minute))
}

// concluded says and writes the last word, and makes the exit code of it.
func concluded(out io.Writer, dir string, t *reports.Selftest) error {
	text := "\n" + t.Sentence() + "\n"
	err := reports.WriteSelftest(dir, t)
	if err == nil {
		text += "selftest: " + filepath.Join(dir, reports.SelftestMarkdownFile) + "\n"
	}
	_, said := io.WriteString(out, text)
	return besides(measured(t), err, said)
}

// measured makes the exit code of what a selftest found.
func measured(t *reports.Selftest) error {
	switch t.Result() {
	case reports.Held:
		return nil
	case reports.Violated:
		return codeError{ExitViolated, errors.New("a broken workload was missed, what should hold was called Violated, or the instrument is wrong; see above")}
	}
	if t.Result() == reports.Interrupted {
		return codeError{ExitUnknown, errors.New("not every round came to its end")} // the signal makes the code, see interrupted
	}
	if t.Summary.NotJudged > 0 {
		return failedBefore()
	}
	return judged(verdict.Unknown)
}
