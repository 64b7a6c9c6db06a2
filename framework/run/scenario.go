package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/environment"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// cleanLimit bounds each of the three steps after a scenario: to collect the results, to keep the logs, and to clear the
// cluster.
const cleanLimit = 3 * time.Minute

// runner runs the scenarios of one `holdfast run`.
type runner struct {
	settings   *Settings
	pool       pool
	file       runfolder.File
	kept       kept            // from before the run was resumed
	lock       io.Closer       // of the run's folder, see lockFolder
	began      time.Time       // the present scenario
	kubernetes string          // version of its cluster
	built      clusters.Image  // this executable; see image
	token      string          // marks what this run creates
	turn       turn            // the right to use the runner
	stop       error           // why no further scenario is begun; nil: the run goes on
	whole      context.Context // of the whole run; nil under Ginkgo's own command
	asked      context.Context // of the present scenario: it ends early if the run is interrupted
	where      string          // where the present scenario was interrupted; empty: it was not
	cause      string          // why a scenario's context ended early; empty: none did
}

// theRun is set by begin. Ginkgo's tree is built before the settings are known, so the specs find the run here.
var theRun *runner

// result is the result of one scenario.
type result struct {
	outcome verdict.Outcome
	why     string
	escaped bool  // a mutant that is caught by chance was not caught
	err     error // the harness failed before anything could be judged
	// remedies are what takes away why a promise was broken.
	remedies []judge.Remedy
	// findings are what the audit found in the workload of a user's application.
	findings []history.Finding
	// unsupported is set if the environment cannot run the scenario. Why is the reason, and there is no outcome.
	unsupported bool
	// interrupted is set if the scenario was not run to its end. Why is where it ended, and there is no outcome.
	interrupted bool
}

// create returns the cluster of a scenario, in the version that the run has.
func (r *runner) create(ctx context.Context, s *scenario.Spec) (clusters.Cluster, error) {
	*s = s.Resized(r.settings.SimulatedNodes, r.settings.SimulatedPods)
	s.Cluster = r.settings.Needs(s.Cluster)
	if n := r.settings.LoadWorkers; n > 0 {
		s.LoadWorkers.Count = n
	}
	s.Cluster.Kubernetes = cmp.Or(s.Cluster.Kubernetes, r.kept.kubernetes)
	r.settings.Progress.now(history.Provision, "")
	r.kubernetes = s.Cluster.Kubernetes // also if no cluster can be made
	cluster, err := r.pool.get(ctx, s.Cluster)
	if err == nil {
		r.kubernetes = cluster.Spec().Kubernetes
	}
	return cluster, err
}

// notCreated keeps the result of a scenario that has no cluster.
func (r *runner) notCreated(ctx context.Context, s scenario.Spec, err error) result {
	if ctx.Err() != nil {
		return r.keepInterrupted(s)
	}
	if r.settings.Cluster != "" { // the next scenario would not get this cluster, either
		r.stop = err
	}
	return r.keep(s, judge.Found{}, err)
}

// begin begins the record of a scenario.
func (r *runner) begin(s scenario.Spec, cluster clusters.Cluster, dir string) (*environment.Environment, error) {
	header, err := r.header(s, cluster)
	if err != nil {
		return nil, err
	}
	writer, err := history.Create(dir, header)
	if err != nil {
		return nil, err
	}
	return environment.New(environment.Options{
		Spec: s, Cluster: cluster, Writer: writer, Seed: r.settings.Seed, Token: r.token,
		Image: r.image, Compile: r.settings.Compile, CacheDir: r.settings.CacheDir, Interrupt: r.settings.Interrupt,
		Now: r.settings.Progress.now, Loading: r.settings.Progress.loading,
	}), nil
}

// record performs the steps of a scenario until one fails. The error is in the record, too.
func (r *runner) record(ctx context.Context, w *history.Writer, steps ...func(context.Context) error) (err error) {
	defer func() {
		if err != nil {
			e := environment.HarnessError(w, err)
			e.Trouble.Interrupted = r.asked != nil && r.asked.Err() != nil
			err = joined(err, w.Append(e))
		}
	}()
	defer noPanic(&err)
	ctx, release := whileOpen(ctx, w.Broken(), w.Err)
	defer release()
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// perform lets load flow while the faults are injected and reverted.
func (r *runner) perform(ctx context.Context, env *environment.Environment) error {
	spec := env.Spec
	spec.Faults = faultsOf(spec)
	p := &play{spec: spec, target: env.Target(), record: env.Writer, undisturbed: env.Undisturbed, tell: r.settings.Progress.now, leave: r.settings.LeaveBroken,
		hold: r.pool.hold, interrupt: r.settings.Interrupt}
	return p.run(ctx)
}

// drain collects what the load workers and the watches have, and ends the record.
func (r *runner) drain(ctx context.Context, env *environment.Environment) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	errs := env.Collect(ctx)
	r.recordFailed(env.Writer.Err())
	return joined(append(errs, env.Writer.Close())...)
}

// ended notes why a scenario ended early, and ends the run if another run has taken its cluster.
func (r *runner) ended(err error) {
	held := r.pool.hold
	select {
	case <-held.Lost():
		r.stop = held.Err()
	default:
	}
	if err != nil && r.stop == nil && r.settings.Interrupt.Cause() == nil { // otherwise the reason is reported anyway
		r.settings.Progress.Note("  the scenario ended early: " + err.Error())
	}
}

// clear removes a scenario from the cluster once it is judged. Until then its pods, and with them their logs, still exist.
func (r *runner) clear(ctx context.Context, env *environment.Environment, out result, err error) {
	if err != nil && r.settings.LeaveBroken && ctx.Err() == nil {
		r.collectLogs(ctx, env.Cluster, env.Spec)
		return
	}
	if out.err != nil || out.outcome != verdict.Held && !out.unsupported || r.settings.KeepLogs {
		r.collectLogs(ctx, env.Cluster, env.Spec)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	if err := r.pool.keepIfHealthy(ctx, env.Clear); err != nil {
		r.settings.Progress.Note("  " + err.Error())
	}
}

// whileOpen is a context that also ends when a channel is closed. Its cause is then that of the channel.
func whileOpen(ctx context.Context, closed <-chan struct{}, cause func() error) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var over sync.WaitGroup
	over.Go(func() {
		select {
		case <-closed:
			cancel(cause())
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		over.Wait()
	}
}

// header is the first line of the record: what was requested.
func (r *runner) header(s scenario.Spec, cluster clusters.Cluster) (history.Header, error) {
	facts, spec := r.settings.Describe(cluster), cluster.Spec()
	t := spec.Profile.Timings()
	h := history.Header{
		RunID: r.settings.RunID, Scenario: s.Name, Claim: s.Claim, Seed: r.settings.Seed,
		Holdfast: r.settings.Version, Mutant: s.Mutant, Base: time.Now(), Samples: history.SamplesOfItself, Notes: s.Notes,
		Cluster: history.ClusterInfo{
			Name: cluster.Name(), Kubernetes: facts.Kubernetes, Provider: facts.Provider, Engine: facts.Engine,
			Image: facts.Image, Balancer: facts.Balancer, Profile: string(spec.Profile), ProxyMode: string(spec.ProxyMode),
			Timings: history.Timings(t),
		},
	}
	for _, i := range s.Promises {
		p, err := invariant.Encode(i)
		if err != nil {
			return h, fmt.Errorf("write down the promise %q: %w", i, err)
		}
		h.Promises = append(h.Promises, p)
	}
	if len(s.Load) > 0 {
		h.Plan = &history.Plan{}
		for _, l := range s.Load {
			lane := history.LanePlan{Lane: l.Lane, Target: l.Target, RatePerSecond: l.Rate}
			if front, passes := s.Fronts[l.Lane]; passes {
				lane.Front = &front
			}
			h.Plan.Lanes = append(h.Plan.Lanes, lane)
		}
	}
	return h, nil
}

// judge reads the record back, judges it and keeps the result. Only what was recorded counts.
func (r *runner) judge(s scenario.Spec, dir string, recordErr error) result {
	r.ended(recordErr)
	recorded, err := history.Open(dir)
	if err != nil {
		return r.keep(s, judge.Found{}, errors.Join(recordErr, err))
	}
	verdicts := judge.Judge(recorded)
	if errors.Is(recordErr, environment.ErrUnhealthy) && s.Mutant == nil {
		if s.Lot == "" { // the next scenario would find it like this, too
			r.stop = recordErr
		}
		return r.keep(s, judge.Found{}, recordErr)
	}
	if why := judge.Unsupported(recorded, verdicts); why != "" {
		return r.keepUnsupported(s, why)
	}
	if r.stop != nil && !slices.ContainsFunc(verdicts, broke) {
		return r.keep(s, judge.Found{}, r.stop)
	}
	r.where = recorded.Interrupted()
	out := r.keep(s, judge.FoundBy(recorded, verdicts), nil)
	out.remedies, out.findings = judge.Remedies(recorded, verdicts), judge.Audited(recorded)
	return out
}

func broke(v verdict.Verdict) bool { return v.Outcome == verdict.Violated }

// recordFailed ends the run if a record cannot be written: the next record could not be written, either. It frees the reserved
// space for run.json and the reports.
func (r *runner) recordFailed(err error) {
	if err == nil {
		return
	}
	r.stop = joined(r.stop, err, runfolder.FreeRoom(r.settings.Dir))
}

// collectLogs keeps the nodes' and pods' logs beside the record. A failure is only logged.
func (r *runner) collectLogs(ctx context.Context, cluster clusters.Cluster, s scenario.Spec) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	dir := filepath.Join(r.settings.Dir, "logs", filepath.FromSlash(s.Name))
	if err := cluster.CollectLogs(ctx, dir); err != nil {
		slog.Warn("collect logs", "scenario", s.Name, "error", err)
	}
}

// image is this executable as an image. It is built once, so that all scenarios of the run have the same image even if the
// executable is rebuilt meanwhile.
func (r *runner) image() (clusters.Image, error) {
	if r.built.Ref != "" {
		return r.built, nil
	}
	ref, archive, err := image.Build(r.settings.Executable, filepath.Join(r.settings.CacheDir, "images"))
	if err == nil {
		r.built = clusters.Image{Ref: ref, Path: archive}
	}
	return r.built, err
}
