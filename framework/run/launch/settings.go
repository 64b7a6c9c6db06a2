// Package launch turns the options of a run into its settings: provider, seed, folder and cluster.
package launch

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
	"github.com/holdfast-ha/holdfast/framework/scenario"
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

// claimFolder names a run after the time, and creates its folder. If two runs begin in the same second, the name of the later run has a
// number.
func claimFolder(artifacts string, now time.Time) (id string, err error) {
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

// NewFolder makes the folder of a run that begins now, and lets last-attempt lead to it.
func NewFolder(artifacts string) (id, dir string, err error) {
	if id, err = claimFolder(artifacts, time.Now()); err != nil {
		return "", "", fmt.Errorf("make a folder for the run: %w", err)
	}
	return id, filepath.Join(artifacts, id), runfolder.PointLastAttempt(artifacts, id)
}

// Seed is a seed, or a new one in place of 0. It has 53 bits, as JSON's numbers do.
func Seed(given uint64) uint64 { return cmp.Or(given, rand.Uint64()>>11|1) }

// Interrupted finds an interrupted run: the ID of a run below artifacts, or the path of its folder.
func Interrupted(artifacts, name string) (dir string, file runfolder.File, err error) {
	dir = filepath.Join(artifacts, name)
	file, err = runfolder.ReadFile(dir)
	if err != nil {
		var other error
		if file, other = runfolder.ReadFile(name); other != nil {
			return "", file, errors.Join(err, other)
		}
		dir = name
	}
	dir, err = filepath.EvalSymlinks(dir) // such as artifacts/last-attempt
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return dir, file, err
}

// Make makes a cluster that outlives this process. After an error, also after Ctrl-C, it removes what was made.
func Make(ctx context.Context, p provider.Provider, name string, spec clusters.Spec) (clusters.Cluster, error) {
	made := interrupt.Of(ctx).Add(interrupt.Pending{
		Undo: "remove what is made of cluster " + name, Done: "what was made of cluster " + name + " is removed",
		Left: "cluster " + name + " is left: holdfast down " + name,
	})
	c, err := p.Create(ctx, name, spec)
	if err == nil {
		err = keepNew(ctx, c)
	}
	if !errors.Is(err, clusters.ErrLeft) {
		made()
	}
	return c, err
}

// keepLimit bounds the removal of a cluster that could not be kept. The provider itself has a limit of three minutes.
const keepLimit = 5 * time.Minute

// keepNew lets a new cluster outlive this process. If that fails, it removes the cluster.
func keepNew(ctx context.Context, c clusters.Cluster) error {
	kept, can := c.(interface{ Keep() error })
	if !can {
		return nil
	}
	err := kept.Keep()
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepLimit)
	defer cancel()
	if left := c.Delete(ctx); left != nil {
		return errors.Join(err, fmt.Errorf("%w: %w: try 'holdfast down %s'", clusters.ErrLeft, left, c.Name()))
	}
	return err
}

// OnCluster returns the chosen scenarios that run on the cluster of --cluster. If it does not exist, it makes the one that most of them need. A *MisfitError
// is about named scenarios that do not run on it. Scenarios of a scope that need another cluster are skipped, and counted.
func OnCluster(ctx context.Context, o run.Options, p provider.Provider, chosen []scenario.Spec, say func(string)) ([]scenario.Spec, error) {
	if o.Cluster == "" || len(chosen) == 0 {
		return chosen, nil
	}
	c, err := p.Open(ctx, o.Cluster)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	spec := scenario.MostNeeded(chosen, o.Needs)
	if !missing {
		spec = c.Spec()
	}
	fit, note, err := o.On(spec, chosen)
	if err != nil {
		return nil, &MisfitError{err}
	}
	if note != "" {
		say(note)
	}
	if !missing {
		return fit, maintenance.CheckFree(ctx, c)
	}
	say(fmt.Sprintf("cluster %s does not exist: it is made, and stays until 'holdfast down %s'", o.Cluster, o.Cluster))
	_, err = Make(ctx, p, o.Cluster, spec)
	return fit, err
}

// MisfitError is about scenarios that do not run on the cluster of --cluster.
type MisfitError struct{ error }

// Unwrap returns the error that names the scenarios.
func (e *MisfitError) Unwrap() error { return e.error }
