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

// runFlags are the flags of `holdfast run`.
type runFlags struct {
	provider, cluster, scope, kubernetes, timings, artifacts string
	proxyMode, incident, resume                              string
	names                                                    []string // of scenarios; none: all scenarios of the scope
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
		Long: `run creates a cluster, runs scenarios on it, judges the records, and writes a report. Without arguments it runs all scenarios
of the scope. With --incident it runs the scenarios that reproduce an outage.

run removes everything that it created, also after Ctrl-C. A second Ctrl-C, at least one second after the first, ends it at once and
lists what is left. Records and reports stay in artifacts/: latest is the last run in which a scenario was judged, and last-attempt is
the last run that began.

--resume continues a run that was interrupted by Ctrl-C, a kill or a power failure. Scenarios with a complete, judged record keep their
results. The others run again, and their old records are moved to a folder set-aside-1 in the run's folder. Seed, scenarios and settings
are those of the interrupted run. The report and the exit code are those of the whole run.

With --cluster, run uses an existing cluster, and the scenarios that fit it. Only one run may use a cluster at a time. The Lease in the
cluster's namespace holdfast names that run.

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
	flags.StringVar(&f.incident, "incident", "", "run the scenarios that reproduce this outage; --list lists all incidents")
	flags.BoolVar(&f.list, "list", false, "list the scenarios and their claims, and run nothing")
	flags.StringVar(&f.resume, "resume", "", "continue this interrupted run: its folder, or its name below --artifacts")
}

// common adds the flags of all commands that run scenarios.
func (f *runFlags) common(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.provider, providerFlag, "kind", "provider of the clusters")
	flags.StringVar(&f.cluster, "cluster", "", "use this cluster, made by 'holdfast up', and do not remove it")
	flags.StringVar(&f.scope, "scope", "short", "short (a quarter of an hour) or full (about three hours)")
	flags.StringVar(&f.kubernetes, "kubernetes", "", "Kubernetes version, such as v1.37.0; default: the newest available version")
	flags.StringVar(&f.timings, "timings", "", "lab or stock, for every scenario; default: the scenario's own")
	flags.StringVar(&f.proxyMode, "proxy-mode", "", proxyModeHelp)
	flags.StringVar(&f.artifacts, "artifacts", "artifacts", "folder of the records and the report")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of all random choices; default: a new seed, which is in the report")
	flags.BoolVar(&f.keep, "keep", false, "keep the last cluster")
	flags.BoolVar(&f.keepLogs, "keep-logs", false, "keep the logs of nodes and pods also if every promise held")
}

func (f runFlags) validate() error {
	spec := clusters.Spec{Zones: []string{"a"}, Kubernetes: f.kubernetes, Profile: clusters.ProfileName(f.timings),
		ProxyMode: clusters.ProxyMode(f.proxyMode)}
	if f.cluster != "" && f.kubernetes != "" {
		return errors.New("--kubernetes with --cluster: the cluster has a version already")
	}
	return spec.Validate()
}

func (f runFlags) run(cmd *cobra.Command, version string, chosen []scenario.Spec, told *history.Incident) error {
	if err := heldBy(f.cluster); err != nil { // a local file, which is faster than the engine and the API server
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
	if len(file.Scenarios) == 0 { // no scenario was begun
		return err
	}
	err = report(out, settings.Dir, file, err)
	if file.Cut() {
		_, _ = fmt.Fprintln(out, "continue this run: holdfast run --resume "+settings.Dir)
	}
	return err
}

func (f runFlags) settings(ctx context.Context, version string, out io.Writer, back backing, progress *run.Progress) (run.Settings, error) {
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
		Executable: cmp.Or(back.executable, os.Args[0]), CacheDir: cache, KeepLogs: f.keepLogs,
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

// compiler compiles the programs of add-ons, and writes its progress to out.
func compiler(out io.Writer) func(context.Context, workloads.Program) (string, error) {
	return func(ctx context.Context, p workloads.Program) (string, error) {
		return nodeimage.Compile(ctx, nodeimage.Command(p), nodeimage.Options{Progress: nodeimage.Lines(out, isTerminal(out))})
	}
}

// claimRun names a run after the time, and creates its folder. If two runs begin in the same second, the name of the later run has a
// number.
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

// SettingsFor are the settings of a run that the ginkgo command starts: those of `holdfast run` without flags.
func SettingsFor(ctx context.Context, version, artifacts string, out io.Writer, scenarios int) (run.Settings, error) {
	f := runFlags{provider: "kind", scope: "full", artifacts: artifacts}
	progress := run.NewProgress(out, scenarios)
	back, err := provider(ctx, f.provider, out, progress.Say)
	if err != nil {
		return run.Settings{}, err
	}
	return f.settings(ctx, version, out, back, progress)
}

// reproduce is the command that runs one scenario again, or without a name all scenarios of the run.
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

// opener creates clusters, or opens the cluster of --cluster.
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
			return nil, fmt.Errorf("cluster %s has %s, not %s", f.cluster, has, needs)
		}
		return c, nil
	}
}

// keep keeps a cluster, and prints how to use and remove it.
func keep(c clusters.Cluster, say func(string)) error {
	say(fmt.Sprintf("cluster %s is kept: holdfast run --cluster %s, holdfast down %s", c.Name(), c.Name(), c.Name()))
	if kept, can := c.(interface{ Keep() error }); can {
		return kept.Keep()
	}
	return nil
}

// closer removes clusters, except the cluster of --cluster and clusters to be kept.
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

// report prints the summary of a run, writes its reports and prints their path. failed are earlier errors of the run. If the reports
// cannot be written, the summary is printed nevertheless, and determines the exit code.
func report(out io.Writer, dir string, file history.RunFile, failed ...error) error {
	text := "\n" + summary(file) + "\n"
	err := reports.WriteAll(dir)
	if err == nil {
		text += "report: " + filepath.Join(dir, reports.HTMLFile) + "\n"
	}
	_, said := io.WriteString(out, text)
	return besides(outcomeOf(file), append(failed, err, said)...)
}
