package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/cli/creating"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/provider"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/run/summary"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/selftest"
	"github.com/holdfast-ha/holdfast/reports"
)

// selftestFlags are the flags of `holdfast selftest`.
type selftestFlags struct {
	runFlags
	runs  int
	from  []string
	judge bool

	noCluster, noInstrument bool
	outages, soak           int
	losses                  time.Duration
}

// maxRounds limits a selftest: more rounds give no more information, and their folders would need longer names.
const maxRounds = 999

// The limits of each part of the measurement. Each part takes less than half a day.
const (
	maxSoak    = 50_000_000
	maxOutages = 50_000
	maxLosses  = 12 * time.Hour
)

func selftestCommand(version string) *cobra.Command {
	var f selftestFlags
	cmd := &cobra.Command{
		Use:   "selftest [SCENARIO ...]",
		Short: "Measure the harness: how often it catches mutants and raises false alarms",
		Long: `selftest runs the given scenarios, or all scenarios of the scope, several times with different seeds. It counts how
many mutants, which are broken on purpose, were caught, and how many of the other scenarios, which should hold, were called
Violated. Each round is a run of its own in the selftest's folder. After each round, selftest writes selftest.md and selftest.json.

Before the rounds, selftest measures load and record as an instrument. This takes three minutes and needs no cluster. It measures
the shortest outage that is always seen, whether single lost requests are seen, and whether a soak of good requests has no failure.

--from counts stored runs instead, of selftests and of 'holdfast run', and makes no cluster, so several nights can be counted
together. With --judge, it judges their records again, which measures today's judgement.

Exit codes: 0 every mutant was caught and no other scenario was Violated; 1 a mutant was missed, or a false alarm; 3 the harness
failed before everything could be judged; 5 a verdict is Unknown; 130 and 143 a signal interrupted the selftest.`,
		Example: `  holdfast selftest
  holdfast selftest --no-cluster --soak 1000000
  holdfast selftest --runs 10 chaos/rolling-update mutants/no-prestop
  holdfast selftest --from artifacts/20261121-203000 --from artifacts/20261122-203000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Names = args
			if len(f.from) > 0 {
				return f.addUp(cmd.OutOrStdout())
			}
			chosen, _, err := f.Scenarios()
			if err == nil {
				err = f.validate()
			}
			if err != nil {
				return exit.Usage(err)
			}
			return f.measure(cmd, version, chosen)
		},
	}
	f.common(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.runs, "runs", 3, "number of rounds, each with its own seed")
	flags.StringArrayVar(&f.from, "from", nil, "count the stored runs in this folder, and run nothing; can be repeated")
	flags.BoolVar(&f.noCluster, "no-cluster", false, "measure only the instrument")
	flags.BoolVar(&f.noInstrument, "no-instrument", false, "run only the rounds")
	flags.IntVar(&f.outages, "outages", 100, "outages of each length; 0: none")
	flags.DurationVar(&f.losses, "losses", 55*time.Second, "duration of the load of which one request of 10,000 is lost; 0: none")
	flags.IntVar(&f.soak, "soak", 100_000, "requests of the soak, at 2,000 a second; 0: none")
	flags.BoolVar(&f.judge, "judge", false, "with --from: judge the records again")
	cmd.ValidArgsFunction = terminal.CompleteScenarios
	return cmd
}

func (f selftestFlags) validate() error {
	if f.runs < 1 || f.runs > maxRounds {
		return fmt.Errorf("--runs %d: want 1 to %d", f.runs, maxRounds)
	}
	if f.noCluster && (f.noInstrument || len(f.Names)+len(f.Labels) > 0) {
		return errors.New("--no-cluster measures only the instrument: it excludes --no-instrument and scenarios")
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
		return errors.New("--judge without --from: new runs are judged anyway")
	}
	return f.Validate()
}

// addUp counts stored runs, and writes the report into a new folder.
func (f selftestFlags) addUp(out io.Writer) error {
	if len(f.Names) > 0 {
		return exit.Usage(errors.New("--from with scenarios: --from counts all scenarios of the stored runs"))
	}
	t := selftest.NewReport("")
	for _, folder := range f.from {
		if err := t.AddStored(folder, f.judge); err != nil {
			return err
		}
	}
	id, err := launch.ClaimFolder(f.Artifacts, time.Now())
	if err != nil {
		return fmt.Errorf("make a folder for the sum: %w", err)
	}
	t.ID = id
	return concluded(out, filepath.Join(f.Artifacts, id), t)
}

// measure measures the instrument, and runs the rounds.
func (f selftestFlags) measure(cmd *cobra.Command, version string, chosen []scenario.Spec) error {
	if f.noCluster {
		f.runs, chosen = 0, nil
	}
	if err := maintenance.CheckHolder(f.Cluster); err != nil {
		return err
	}
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	progress := progress.New(out, f.runs*len(chosen))
	p, err := f.newProvider(ctx, out, progress)
	if err != nil {
		return err
	}
	if chosen, err = f.onCluster(ctx, p, chosen, progress.Note); err != nil {
		return err
	}
	base, err := f.Settings(ctx, version, out, p, progress)
	if err != nil {
		return err
	}
	t := selftest.NewReport(base.RunID)
	t.Asked = f.runs
	var errs []error
	if !f.noInstrument {
		say := terminal.SayTo(out)
		errs = append(errs, t.MeasureInstrument(ctx, selftest.Options{
			Dir: base.Dir, Seed: base.Seed, Trials: f.outages, Losses: f.losses, Soak: f.soak, Say: func(line string) { say("%s", line) },
		}, base.Judged))
	}
	if !f.noCluster && ctx.Err() == nil { // the rounds run even if the instrument could not be measured
		errs = append(errs, t.Repeat(ctx, selftest.Rounds{
			Base: base, Scenarios: chosen, About: about(chosen), Reproduce: f.reproduceWith, Summary: summary.Of, Out: out,
		}))
	}
	return exit.Besides(concluded(out, base.Dir, t), errs...)
}

// about is how long scenarios take, by their own estimates.
func about(chosen []scenario.Spec) (sum time.Duration) {
	for _, s := range chosen {
		sum += s.About
	}
	return sum
}

// reproduceWith is Options.Reproduce with another seed.
func (f selftestFlags) reproduceWith(seed uint64) func(name, kubernetes string) string {
	options := f.Options
	options.Seed = seed
	return options.Reproduce
}

// newProvider provides the rounds' clusters. With --no-cluster it provides none.
func (f selftestFlags) newProvider(ctx context.Context, out io.Writer, progress *progress.Progress) (provider.Provider, error) {
	if f.noCluster {
		return provider.Provider{Provider: noProvider{}}, nil
	}
	return creating.Provider(ctx, f.provider, out, progress.Say)
}

// noProvider provides no clusters.
type noProvider struct{ clusters.Provider }

// concluded writes the final report and prints its sentence. It returns the exit code.
func concluded(out io.Writer, dir string, t *selftest.Report) error {
	text := "\n" + t.Sentence() + "\n"
	err := selftest.Write(dir, t)
	if err == nil {
		text += "selftest: " + filepath.Join(dir, selftest.MarkdownFile) + "\n"
	}
	_, said := io.WriteString(out, text)
	return exit.Besides(measured(t), err, said)
}

// measured is the exit code of a selftest.
func measured(t *selftest.Report) error {
	switch t.Result() {
	case reports.Held:
		return nil
	case reports.Violated:
		return exit.With(exit.Violated, errors.New("a mutant was missed, a good scenario was called Violated, or the instrument is wrong; see above"))
	case reports.Interrupted:
		// The signal determines the code, see interrupted.
		return exit.With(exit.Unknown, errors.New("not every round was finished"))
	}
	if t.Summary.NotJudged > 0 {
		return exit.FailedBefore()
	}
	return exit.Judged(verdict.Unknown)
}
