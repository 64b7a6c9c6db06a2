package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/interrupt"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/workloads"
)

// runFlags are what `holdfast run` was told.
type runFlags struct {
	provider, cluster, scope, kubernetes, timings, artifacts string
	proxyMode, incident, resume                              string
	names                                                    []string // of scenarios; none: all of the scope
	seed                                                     uint64
	list, keep, keepLogs                                     bool
	begun                                                    *history.RunFile // the run that --resume continues; nil: a new run
}

const proxyModeHelp = "kube-proxy's mode on every cluster: nftables, iptables, or ipvs where the kernel has it; default: nftables"

func runCommand(version string) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO ...]",
		Short: "Run scenarios on a real cluster, judge them, and write a report",
		Long: `run provisions a cluster, runs scenarios on it, judges what was recorded, and writes a report. Without arguments it runs
every scenario of the scope. --incident runs those that retell an outage. What it makes is removed again, on Ctrl-C too; the record
stays under artifacts/: latest leads to the last run of which a scenario was judged, last-attempt to the one that was begun last. A
second Ctrl-C, but not within a second, ends it at once and names what is left.

--resume continues a run that was interrupted, by Ctrl-C, a kill or a power failure. Scenarios with a whole, judged record keep their
results. The others are run again, and their old records are moved to a folder set-aside-1 in the run's folder. Seed, scenarios and
settings are those that the run was begun with. The report and the exit code are those of the whole run.

With --cluster, it runs what fits that cluster, which no other run may use meanwhile: a Lease in its namespace holdfast says whose it
is.

` + exitCodes,
		Example: `  holdfast run
  holdfast run chaos/rolling-update mutants/no-prestop
  holdfast run --list
  holdfast run --scope full --kubernetes v1.36.3
  holdfast run --proxy-mode iptables
  holdfast run --incident maintenance-took-us-out
  holdfast run --resume last-attempt
  holdfast up demo && holdfast run --cluster demo chaos/drain-one-worker`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.names = args
			if f.resume != "" {
				var err error
				if f, err = f.resumed(cmd); err != nil {
					return err
				}
			}
			chosen, told, err := f.choose()
			if err != nil {
				return usage(err)
			}
			if f.list {
				return f.printList(cmd.OutOrStdout(), chosen)
			}
			if err := f.validate(); err != nil {
				return usage(err)
			}
			return f.run(cmd, version, chosen, told)
		},
	}
	f.own(cmd)
	completeRun(cmd)
	return cmd
}

// own are the flags of `holdfast run`.
func (f *runFlags) own(cmd *cobra.Command) {
	f.common(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.incident, "incident", "", "run the scenarios that retell this outage; --list names them all")
	flags.BoolVar(&f.list, "list", false, "list the scenarios and their claims, and run none")
	flags.StringVar(&f.resume, "resume", "", "continue this interrupted run: its folder, or its name below --artifacts")
}

// common are the flags of whatever runs scenarios.
func (f *runFlags) common(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.provider, providerFlag, "kind", "what makes the clusters")
	flags.StringVar(&f.cluster, "cluster", "", "use this cluster, made by 'holdfast up', and leave it")
	flags.StringVar(&f.scope, "scope", "short", "short (a quarter of an hour) or full (about three hours)")
	flags.StringVar(&f.kubernetes, "kubernetes", "", "version, such as v1.37.0; default: the newest that can be had")
	flags.StringVar(&f.timings, "timings", "", "lab or stock, for every scenario; default: what the scenario says")
	flags.StringVar(&f.proxyMode, "proxy-mode", "", proxyModeHelp)
	flags.StringVar(&f.artifacts, "artifacts", "artifacts", "where the record and the report go")
	flags.Uint64Var(&f.seed, "seed", 0, "of all random choices; default: a new one, which the report names")
	flags.BoolVar(&f.keep, "keep", false, "keep the last cluster, to look at it")
	flags.BoolVar(&f.keepLogs, "keep-logs", false, "keep node and pod logs also of what held")
}

func (f runFlags) validate() error {
	spec := clusters.Spec{Zones: []string{"a"}, Kubernetes: f.kubernetes, Profile: clusters.ProfileName(f.timings),
		ProxyMode: clusters.ProxyMode(f.proxyMode)}
	if f.cluster != "" && f.kubernetes != "" {
		return errors.New("--kubernetes with --cluster: that cluster has a version already")
	}
	return spec.Validate()
}

func (f runFlags) run(cmd *cobra.Command, version string, chosen []scenario.Spec, told *history.Incident) error {
	if err := heldBy(f.cluster); err != nil { // this machine knows at once; the engine and the API server take their time
		return err
	}
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	progress := run.NewProgress(out, len(chosen))
	back, err := provider(ctx, f.provider, out, progress.Say)
	if err != nil {
		return err
	}
	chosen, err = f.onCluster(ctx, back, chosen, progress.Note)
	if err != nil {
		return err
	}
	settings, err := f.settings(ctx, version, out, back, progress)
	if err != nil {
		return err
	}
	settings.Incident = told
	if err := tell(out, told); err != nil {
		return err
	}
	begin := run.Scenarios
	if f.begun != nil {
		begin = run.Resume
	}
	file, err := begin(ctx, settings, chosen)
	if len(file.Scenarios) == 0 { // nothing was begun
		return err
	}
	return report(out, settings.Dir, file, err)
}

func (f runFlags) settings(ctx context.Context, version string, out io.Writer, back backing, progress *run.Progress) (run.Settings, error) {
	executable, err := os.Executable()
	if err != nil {
		return run.Settings{}, err
	}
	cache, err := engine.CacheDir()
	if err != nil {
		return run.Settings{}, err
	}
	if f.seed == 0 {
		f.seed = rand.Uint64()>>11 | 1 // 53 bits: JSON's numbers carry no more
	}
	now := time.Now()
	id, err := f.claim(now)
	if err != nil {
		return run.Settings{}, fmt.Errorf("make a folder for the run: %w", err)
	}
	if err := history.PointLastAttempt(f.artifacts, id); err != nil {
		return run.Settings{}, err
	}
	interrupted := interrupt.Of(ctx)
	if progress != nil {
		interrupted.SayTo(progress.Note)
	}
	settings := run.Settings{
		Cluster: f.cluster, Keep: f.keep, Interrupt: interrupted,
		Hold: func(ctx context.Context, c clusters.Cluster) (*hold.Hold, error) {
			return take(ctx, c, "run "+id)
		},
		RunID: id, Started: now, Dir: filepath.Join(f.artifacts, id), Version: version, Seed: f.seed, Args: os.Args[1:],
		Reproduce:  f.reproduce,
		Kubernetes: f.kubernetes, Profile: clusters.ProfileName(f.timings), ProxyMode: clusters.ProxyMode(f.proxyMode),
		Open: f.opener(back), Close: f.closer(func(line string) { sayTo(out)("%s", line) }), Describe: back.facts,
		Executable: executable, CacheDir: cache, KeepLogs: f.keepLogs,
		Progress: progress, Compile: compiler(out), Judged: func() {
			if err := history.PointLatest(f.artifacts, id); err != nil {
				slog.Warn("point at the run", "error", err)
			}
		},
	}
	if f.begun != nil {
		settings.Started, settings.Resumed, settings.Args = f.begun.Started, now, f.begun.Args
	}
	return settings, nil
}

// claim is the name of the run. The folder of a new run is made.
func (f runFlags) claim(now time.Time) (id string, err error) {
	if f.begun != nil {
		return f.begun.ID, nil
	}
	return claimRun(f.artifacts, now)
}

// compiler makes the programs of add-ons, and tells out how far it is.
func compiler(out io.Writer) func(context.Context, workloads.Program) (string, error) {
	return func(ctx context.Context, p workloads.Program) (string, error) {
		return nodeimage.Compile(ctx, nodeimage.Command(p), nodeimage.Options{Progress: nodeimage.Lines(out, isTerminal(out))})
	}
}

// claimRun names a run after its moment and makes the folder of that name. Of two runs that begin in the same second, the
// later one gets a number.
func claimRun(artifacts string, now time.Time) (id string, err error) {
	if err := os.MkdirAll(artifacts, 0o755); err != nil {
		return "", err
	}
	moment := now.UTC().Format("20060102-150405")
	for n := 2; ; n++ {
		err := os.Mkdir(filepath.Join(artifacts, cmp.Or(id, moment)), 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return cmp.Or(id, moment), err
		}
		id = fmt.Sprintf("%s-%d", moment, n)
	}
}

// SettingsFor are the settings of a run that Ginkgo's own command starts: those of `holdfast run` without flags.
func SettingsFor(ctx context.Context, version, artifacts string, out io.Writer, scenarios int) (run.Settings, error) {
	f := runFlags{provider: "kind", scope: "full", artifacts: artifacts}
	progress := run.NewProgress(out, scenarios)
	back, err := provider(ctx, f.provider, out, progress.Say)
	if err != nil {
		return run.Settings{}, err
	}
	return f.settings(ctx, version, out, back, progress)
}

// reproduce is the command that runs one scenario again; without a name, all that were run.
func (f runFlags) reproduce(name string, kubernetes string) string {
	words := []string{"holdfast", "run"}
	switch {
	case name != "":
		words = append(words, name)
	case f.incident != "":
		words = append(words, "--incident", f.incident)
	case len(f.names) > 0:
		words = append(words, f.names...)
	case f.scope != "short":
		words = append(words, "--scope", f.scope)
	}
	words = append(words, "--seed", fmt.Sprint(f.seed))
	if kubernetes != "" {
		words = append(words, "--kubernetes", kubernetes)
	}
	if f.timings != "" {
		words = append(words, "--timings", f.timings)
	}
	if f.proxyMode != "" {
		words = append(words, "--proxy-mode", f.proxyMode)
	}
	return strings.Join(words, " ")
}

// opener makes clusters, or finds the one that was named.
func (f runFlags) opener(back backing) func(context.Context, string, clusters.Spec) (clusters.Cluster, error) {
	if f.cluster == "" {
		return back.Create
	}
	return func(ctx context.Context, _ string, wanted clusters.Spec) (clusters.Cluster, error) {
		c, err := back.open(ctx, f.cluster)
		if err != nil {
			return nil, err
		}
		if has, needs := c.Spec().Unlike(wanted); has != "" {
			return nil, fmt.Errorf("cluster %s has %s, and not %s", f.cluster, has, needs)
		}
		return c, nil
	}
}

// keep leaves a cluster, and says so.
func keep(c clusters.Cluster, say func(string)) error {
	say(fmt.Sprintf("cluster %s is kept: holdfast run --cluster %s, holdfast down %s", c.Name(), c.Name(), c.Name()))
	if kept, can := c.(interface{ Keep() error }); can {
		return kept.Keep()
	}
	return nil
}

// closer removes clusters, but the one that was named or is to be kept.
func (f runFlags) closer(say func(string)) func(context.Context, clusters.Cluster) error {
	return func(ctx context.Context, c clusters.Cluster) error {
		if f.cluster != "" {
			return nil
		}
		if f.keep {
			return keep(c, say)
		}
		return c.Delete(ctx)
	}
}

// report sums up a run, writes its reports and says where they are. Failed is what could not be kept of the run before. The sum is
// said and decides also where no report can be written.
func report(out io.Writer, dir string, file history.RunFile, failed ...error) error {
	text := "\n" + summary(file) + "\n"
	err := reports.WriteAll(dir)
	if err == nil {
		text += "report: " + filepath.Join(dir, reports.HTMLFile) + "\n"
	}
	_, said := io.WriteString(out, text)
	return besides(outcomeOf(file), append(failed, err, said)...)
}
