package launch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/provider"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/fit"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/workloads"
)

// SettingsFor are the settings of a run that the ginkgo command starts: those of `holdfast run` without flags.
func SettingsFor(ctx context.Context, version, artifacts string, out io.Writer, scenarios int) (run.Settings, error) {
	progress := progress.New(out, scenarios)
	p, err := provider.Kind(ctx, out, progress.Say)
	if err != nil {
		return run.Settings{}, err
	}
	return Options{Scope: "full", Artifacts: artifacts}.Settings(ctx, version, out, p, progress)
}

// Settings makes the folder of the run, and returns its settings. progress may be nil.
func (o Options) Settings(ctx context.Context, version string, out io.Writer, p provider.Provider, progress *progress.Progress) (run.Settings, error) {
	cache, err := engine.CacheDir()
	if err != nil {
		return run.Settings{}, err
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()>>11 | 1 // 53 bits: JSON's numbers carry no more
	}
	now := time.Now()
	id, err := o.claim(now)
	if err != nil {
		return run.Settings{}, fmt.Errorf("make a folder for the run: %w", err)
	}
	if err := runfolder.PointLastAttempt(o.Artifacts, id); err != nil {
		return run.Settings{}, err
	}
	interrupted := interrupt.Of(ctx)
	if progress != nil {
		interrupted.SayTo(progress.Note)
	}
	settings := run.Settings{
		Cluster: o.Cluster, Keep: o.Keep, Interrupt: interrupted,
		Hold: func(ctx context.Context, c clusters.Cluster) (*hold.Hold, error) {
			return maintenance.Take(ctx, c, "run "+id)
		},
		RunID: id, Started: now, Dir: filepath.Join(o.Artifacts, id), Version: version, Seed: o.Seed, Args: os.Args[1:],
		Reproduce:  o.Reproduce,
		Kubernetes: o.Kubernetes, Profile: clusters.ProfileName(o.Timings), ProxyMode: clusters.ProxyMode(o.ProxyMode),
		LoadWorkers: o.Workers, Fit: fit.Options{Measure: p.Measure, Rate: o.LoadRate}, TimeBudget: o.TimeBudget, SimulatedNodes: o.SimulatedNodes, SimulatedPods: o.SimulatedPods,
		Open: o.opener(p), Close: o.closer(func(line string) { _, _ = fmt.Fprintln(out, line) }), Describe: p.Facts, Machine: p.Machine,
		Executable: cmp.Or(p.Executable, os.Args[0]), CacheDir: cache, KeepLogs: o.KeepLogs,
		Progress: progress, Compile: Compiler(out), Judged: func() {
			if err := runfolder.PointLatest(o.Artifacts, id); err != nil {
				slog.Warn("point at the run", "error", err)
			}
		},
	}
	if o.Begun != nil {
		settings.Started, settings.Resumed, settings.Args = o.Begun.Started, now, o.Begun.Args
	}
	return settings, nil
}

// Compiler compiles the programs of others, such as those of add-ons, and writes its progress to out.
func Compiler(out io.Writer) func(context.Context, workloads.Program) (string, error) {
	return func(ctx context.Context, p workloads.Program) (string, error) {
		return nodeimage.Compile(ctx, nodeimage.Command(p), nodeimage.Options{Progress: nodeimage.ProgressTo(out)})
	}
}

// opener creates clusters, or opens the cluster of --cluster.
func (o Options) opener(p provider.Provider) func(context.Context, string, clusters.Spec) (clusters.Cluster, error) {
	if o.Cluster == "" {
		return p.Create
	}
	return func(ctx context.Context, _ string, wanted clusters.Spec) (clusters.Cluster, error) {
		c, err := p.Open(ctx, o.Cluster)
		if err != nil {
			return nil, err
		}
		if has, needs := c.Spec().Unlike(wanted); has != "" {
			return nil, fmt.Errorf("cluster %s has %s, not %s", o.Cluster, has, needs)
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
func (o Options) closer(say func(string)) func(context.Context, clusters.Cluster) error {
	return func(ctx context.Context, c clusters.Cluster) error {
		if o.Cluster != "" {
			return nil
		}
		if o.Keep {
			return keep(c, say)
		}
		return c.Delete(ctx)
	}
}
