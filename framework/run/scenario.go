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
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/run/environment"
	"github.com/holdfast-ha/holdfast/framework/run/fit"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// cleanLimit bounds each of the three steps after a scenario: to collect the results, to keep the logs, and to clear the
// cluster. With simulated pods, clearing has a longer limit; see clearLimit.
const cleanLimit = 3 * time.Minute

// runner runs the scenarios of one `holdfast run`.
type runner struct {
	settings *Settings
	pool     *Pool
	lock     io.Closer // of the run's folder, see lockFolder
	token    string    // marks what this run creates
	checker  deploy.Checker
	budget   budget
	// kubernetes is the version of the clusters for which no version was requested, from before the run was resumed; empty: the newest.
	kubernetes string

	file  runfolder.File
	built clusters.Image // this executable; see image
	stop  error          // why no further scenario is begun; nil: the run goes on
	cause string         // why a scenario's context ended early; empty: none did
}

// result is the result of one scenario.
type result struct {
	outcome verdict.Outcome
	why     string
	escaped bool  // a mutant that is caught by chance was not caught
	busy    bool  // evidence is missing because the machine was busy
	err     error // the harness failed before anything could be judged
	// verdicts are those on its promises.
	verdicts []verdict.Verdict
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
func (a *attempt) create(ctx context.Context, s *scenario.Spec) (clusters.Cluster, error) {
	if n := a.settings.LoadWorkers; n > 0 {
		s.LoadWorkers.Count = n
	}
	s.Cluster.Kubernetes = cmp.Or(s.Cluster.Kubernetes, a.runner.kubernetes)
	a.shown.Now(history.Provision, "")
	a.kubernetes = s.Cluster.Kubernetes // also if no cluster can be made
	check := a.checker.Of(s.App)
	cluster, err := a.pool.get(clusters.WhenAnswering(ctx, check), s.Cluster)
	fits := a.fits()
	if err == nil { // of a cluster that was there, or whose provider does not ask earlier
		err = check(ctx, cluster.Config())
	}
	if err == nil {
		a.kubernetes = cluster.Spec().Kubernetes
		*s = fit.Apply(fits, *s)
	}
	return cluster, err
}

// fits is what the machine of the cluster carries, which is in run.json, too.
func (a *attempt) fits() runfolder.Fit {
	a.file.AddFit(a.pool.fit)
	return a.pool.fit
}

// notCreated keeps the result of a scenario that has no cluster.
func (a *attempt) notCreated(ctx context.Context, s scenario.Spec, err error) result {
	if ctx.Err() != nil {
		return a.keepInterrupted(s)
	}
	refused, slow := deploy.Refused(err) != nil, (*fit.TooSlowError)(nil)
	if refused && s.Mutant == nil || !refused && (a.settings.Cluster != "" || errors.As(err, &slow)) { // the next scenario would not get this cluster, either
		a.stop = err
	}
	return a.keep(s, judge.Found{}, err)
}

// begin begins the record of a scenario.
func (a *attempt) begin(s scenario.Spec, cluster clusters.Cluster, dir string) (*environment.Environment, error) {
	header, err := a.header(s, cluster)
	if err != nil {
		return nil, err
	}
	writer, err := history.Create(dir, header)
	if err != nil {
		return nil, err
	}
	return environment.New(environment.Options{
		Spec: s, Cluster: cluster, Writer: writer, Seed: a.settings.Seed, Token: a.token,
		Image: a.image, Compile: a.settings.Compile, CacheDir: a.settings.CacheDir, Interrupt: a.settings.Interrupt,
		Now: a.shown.Now, Loading: a.shown.Loading,
	}), nil
}

// record performs the steps of a scenario until one fails. The error is in the record, too.
func (a *attempt) record(ctx context.Context, w *history.Writer, steps ...func(context.Context) error) (err error) {
	defer func() {
		if err != nil {
			e := environment.HarnessError(w, err)
			e.Trouble.Interrupted = a.asked != nil && a.asked.Err() != nil
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
func (a *attempt) perform(ctx context.Context, env *environment.Environment) error {
	spec := env.Spec
	spec.Faults = faultsOf(spec)
	p := &play{spec: spec, target: env.Target(), record: env.Writer, undisturbed: env.Undisturbed, tell: a.shown.Now, leave: a.settings.LeaveBroken,
		hold: a.pool.hold, interrupt: a.settings.Interrupt}
	return p.run(ctx)
}

// drain collects what the load workers and the watches have, and ends the record.
func (a *attempt) drain(ctx context.Context, env *environment.Environment) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	errs := env.Collect(ctx)
	a.recordFailed(env.Writer.Err())
	return joined(append(errs, env.Writer.Close())...)
}

// ended notes why a scenario ended early, and ends the run if another run has taken its cluster.
func (a *attempt) ended(err error) {
	held := a.pool.hold
	select {
	case <-held.Lost():
		a.stop = held.Err()
	default:
	}
	if err != nil && a.stop == nil && a.settings.Interrupt.Cause() == nil { // otherwise the reason is reported anyway
		a.shown.Note("the scenario ended early: " + err.Error())
	}
}

// clear removes a scenario from the cluster once it is judged. Until then its pods, and with them their logs, still exist.
func (a *attempt) clear(ctx context.Context, env *environment.Environment, out result, err error) {
	if err != nil && a.settings.LeaveBroken && ctx.Err() == nil {
		a.collectLogs(ctx, env.Cluster, env.Spec)
		return
	}
	if out.err != nil || out.outcome != verdict.Held && !out.unsupported || a.settings.KeepLogs {
		a.collectLogs(ctx, env.Cluster, env.Spec)
	}
	if env.Spec.Simulated != nil { // it may take minutes
		a.shown.Now(history.Drained, "removing the pods")
	}
	a.giveBack(ctx, clearLimit(env.Spec), env.Clear)
}

// clearPerPod is the time that each pod on simulated nodes adds to cleanLimit. Measured on two cores with 5,000 nodes: 3 to 17 ms.
const clearPerPod = 100 * time.Millisecond

// clearLimit bounds the removal of a scenario from its cluster.
func clearLimit(s scenario.Spec) time.Duration {
	if s.Simulated == nil {
		return cleanLimit
	}
	return cleanLimit + time.Duration(s.Simulated.Pods)*clearPerPod
}

// giveBack clears the cluster for the next scenario within a limit, also if ctx has ended.
func (r *runner) giveBack(ctx context.Context, limit time.Duration, clear func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := r.pool.keepIfHealthy(ctx, clear); err != nil {
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
func (a *attempt) header(s scenario.Spec, cluster clusters.Cluster) (history.Header, error) {
	facts, spec := a.settings.Describe(cluster), cluster.Spec()
	t := spec.Timings()
	h := history.Header{
		RunID: a.settings.RunID, Scenario: s.Name, Claim: s.Claim, Seed: a.settings.Seed,
		Holdfast: a.settings.Version, Mutant: s.Mutant, Base: time.Now(), Samples: history.SamplesOfItself, Notes: s.Notes,
		Cluster: history.ClusterInfo{
			Name: cluster.Name(), Kubernetes: facts.Kubernetes, Provider: facts.Provider, Engine: facts.Engine,
			Image: facts.Image, Balancer: facts.Balancer, Profile: string(spec.Profile), ProxyMode: string(spec.ProxyMode),
			Timings: fit.Timings(a.pool.fit, t), SimulatedNodes: spec.SimulatedNodes,
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
		h.Plan = &history.Plan{Aside: s.Aside}
		for _, l := range s.Load {
			lane := history.LanePlan{Lane: l.Lane, Target: l.Target, RatePerSecond: l.Rate}
			if front, passes := s.Fronts[l.Lane]; passes {
				lane.Front = &front
			}
			h.Plan.Lanes = append(h.Plan.Lanes, lane)
		}
	}
	if s.App != nil && h.Plan != nil { // the first probe is of the whole run, and the tested workload is of one scenario
		h.Application = s.App.Namespace + "/" + h.Plan.Lanes[0].Service()
	}
	return h, nil
}

// judge reads the record back, judges it and keeps the result. Only what was recorded counts.
func (a *attempt) judge(s scenario.Spec, dir string, recordErr error) result {
	a.ended(recordErr)
	recorded, err := history.Open(dir)
	if err != nil {
		return a.keep(s, judge.Found{}, errors.Join(recordErr, err))
	}
	verdicts, err := judged(recorded)
	if err != nil {
		return a.keep(s, judge.Found{}, errors.Join(recordErr, err))
	}
	if errors.Is(recordErr, environment.ErrUnhealthy) && s.Mutant == nil {
		if s.Lot == "" { // the next scenario would find it like this, too
			a.stop = recordErr
		}
		return a.keep(s, judge.Found{}, recordErr)
	}
	if why := judge.Unsupported(recorded, verdicts); why != "" {
		return a.keepUnsupported(s, why)
	}
	if a.stop != nil && !slices.ContainsFunc(verdicts, broke) {
		return a.keep(s, judge.Found{}, a.stop)
	}
	a.where = recorded.Interrupted()
	out := a.keep(s, judge.FoundBy(recorded, verdicts), nil)
	out.verdicts = verdicts
	out.remedies, out.findings = judge.Remedies(recorded, verdicts), judge.Audited(recorded)
	return out
}

// judged are the verdicts about a record. A promise that panics, which may be a user's own, is an error: the workload is removed all the same.
func judged(r history.Run) (verdicts []verdict.Verdict, err error) {
	defer noPanic(&err)
	return judge.Judge(r), nil
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
func (a *attempt) collectLogs(ctx context.Context, cluster clusters.Cluster, s scenario.Spec) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	dir := filepath.Join(a.settings.Dir, "logs", filepath.FromSlash(s.Name))
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
