package launch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Tools are what a run needs beside its options.
type Tools struct {
	Version  string // of the harness
	Out      io.Writer
	Provider provider.Provider
	Progress *progress.Progress // nil: none is shown
	Begun    *runfolder.File    // the run to continue; nil: a new run
}

// Settings are those of a run, whose folder they make if it is new. They lack the command that repeats it.
func Settings(ctx context.Context, o run.Options, t Tools) (run.Settings, error) {
	cache, err := engine.CacheDir()
	if err != nil {
		return run.Settings{}, err
	}
	o.Seed = Seed(o.Seed)
	settings := run.Settings{
		Options: o, Started: time.Now(), Version: t.Version, Args: os.Args[1:], Measure: t.Provider.Measure, Interrupt: interrupt.Of(ctx),
		Open: opener(o, t.Provider), Close: closer(o, t.Out), Describe: t.Provider.Facts, Machine: t.Provider.Machine,
		Executable: cmp.Or(t.Provider.Executable, os.Args[0]), CacheDir: cache, Progress: t.Progress, Compile: Compiler(t.Out),
	}
	if t.Begun != nil {
		settings.RunID, settings.Started, settings.Resumed, settings.Args = t.Begun.ID, t.Begun.Started, time.Now(), t.Begun.Args
		settings.Dir, err = filepath.Join(o.Artifacts, settings.RunID), runfolder.PointLastAttempt(o.Artifacts, settings.RunID)
	} else {
		settings.RunID, settings.Dir, err = NewFolder(o.Artifacts)
	}
	if err != nil {
		return run.Settings{}, err
	}
	settings.Hold = func(ctx context.Context, c clusters.Cluster) (*hold.Hold, error) {
		return maintenance.Take(ctx, c, "run "+settings.RunID)
	}
	settings.Judged = func() {
		if err := runfolder.PointLatest(o.Artifacts, settings.RunID); err != nil {
			slog.Warn("point at the run", "error", err)
		}
	}
	if t.Progress != nil {
		settings.Interrupt.SayTo(t.Progress.Note)
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
func opener(o run.Options, p provider.Provider) func(context.Context, string, clusters.Spec) (clusters.Cluster, error) {
	if o.Cluster == "" {
		return p.Create
	}
	return func(ctx context.Context, name string, wanted clusters.Spec) (clusters.Cluster, error) {
		c, err := p.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		if has, needs := c.Spec().Unlike(wanted); has != "" {
			return nil, fmt.Errorf("cluster %s has %s, not %s", name, has, needs)
		}
		return c, nil
	}
}

// closer removes clusters, except the cluster of --cluster and clusters to be kept, and tells how those are used and removed.
func closer(o run.Options, out io.Writer) func(context.Context, clusters.Cluster) error {
	return func(ctx context.Context, c clusters.Cluster) error {
		switch {
		case o.Cluster != "":
			return nil
		case !o.Keep:
			return c.Delete(ctx)
		}
		_, _ = fmt.Fprintf(out, "cluster %s is kept: holdfast run --cluster %s, holdfast down %s\n", c.Name(), c.Name(), c.Name())
		if kept, can := c.(interface{ Keep() error }); can {
			return kept.Keep()
		}
		return nil
	}
}
