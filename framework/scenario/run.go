package scenario

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/observe"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// cleanLimit bounds each of the three things done after a scenario, whatever came of it: to collect what was recorded, to
// keep the logs, and to clear it away.
const cleanLimit = 3 * time.Minute

// run is all scenarios of one `holdfast run`.
type run struct {
	settings   *Settings
	pool       pool
	file       history.RunFile
	began      time.Time       // the scenario at hand
	kubernetes string          // what its cluster runs
	built      clusters.Image  // this executable; see image
	token      string          // tells what this run makes from what any other does
	turn       turn            // whose scenario is at hand
	stop       error           // why no further scenario is begun; nil: one is
	whole      context.Context // of the whole run; nil: Ginkgo's own command has the say
	asked      context.Context // of the scenario at hand: it ends early if the run is interrupted
	where      string          // the scenario at hand was interrupted; empty: it was not
	cause      string          // why a scenario's context ended early; empty: none did
}

// theRun is set by start. Ginkgo's tree is built before its settings are known, so the specs find it here.
var theRun *run

// result is what came of one scenario.
type result struct {
	outcome verdict.Outcome
	why     string
	escaped bool  // a mutant that is caught by chance was not
	err     error // the harness failed before anything could be judged
	// unsupported says that what it takes is not to be had here, and Why says what: there is no outcome.
	unsupported bool
	// interrupted says that it was not run to its end, and Why says where: there is no outcome.
	interrupted bool
}

// one runs a scenario from its cluster to its verdicts and keeps the result.
func (r *run) one(ctx context.Context, s Spec) result {
	r.began, r.where, r.asked = time.Now(), "", ctx
	r.settings.Progress.begin(s)
	out := r.attempt(ctx, s)
	r.settings.Progress.end(s, out, time.Since(r.began))
	return out
}

func (r *run) attempt(ctx context.Context, s Spec) result {
	s.Cluster = r.settings.Needs(s.Cluster)
	r.settings.Progress.now(history.Provision, "")
	r.kubernetes = s.Cluster.Kubernetes // also where no cluster can be made of it
	defer r.heard(ctx)
	cluster, err := r.pool.get(ctx, s.Cluster)
	switch {
	case err != nil && ctx.Err() != nil:
		return r.keepInterrupted(s)
	case err != nil:
		if r.settings.Cluster != "" { // the next one would not get it, either
			r.stop = err
		}
		return r.keep(s, judge.Found{}, err)
	}
	held := r.pool.hold
	ctx, release := whileOpen(ctx, held.Lost(), held.Err) // another run has it: this one disturbs nothing any more
	defer release()
	r.kubernetes = cluster.Spec().Kubernetes
	dir := filepath.Join(r.settings.Dir, filepath.FromSlash(s.Name))
	st, recordErr := r.record(ctx, s, cluster, dir)
	select {
	case <-held.Lost():
		r.stop = held.Err()
	default:
	}
	if recordErr != nil && r.stop == nil && r.settings.Interrupt.Cause() == nil { // else it is said anyway
		r.settings.Progress.Note("  it did not run to its end: " + recordErr.Error())
	}
	if st == nil { // what may lie there is another's record
		return r.keep(s, judge.Found{}, recordErr)
	}
	out := r.judge(s, dir, recordErr)
	if recordErr != nil && r.settings.LeaveBroken && ctx.Err() == nil {
		r.collectLogs(ctx, cluster, s)
		return out
	}
	r.leave(ctx, st, out)
	return out
}

// leave clears a scenario away once it is judged: until then its pods, and with them their logs, are still there.
func (r *run) leave(ctx context.Context, st *stage, out result) {
	if out.err != nil || out.outcome != verdict.Held && !out.unsupported || r.settings.KeepLogs {
		r.collectLogs(ctx, st.cluster, st.spec)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	if err := r.pool.keepIfHealthy(ctx, st.clear); err != nil {
		r.settings.Progress.Note("  " + err.Error())
	}
}

// whileOpen is a context that also ends when a channel is closed, for the cause that is then known.
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

// record does everything that is written down: deploy, load, play. It returns the stage, unless not even that could be
// set up, for the caller to clear away. An error is in the record as well, as trouble.
func (r *run) record(ctx context.Context, s Spec, cluster clusters.Cluster, dir string) (st *stage, err error) {
	header, err := r.header(s, cluster)
	if err != nil {
		return nil, err
	}
	writer, err := history.Create(dir, header)
	if err != nil {
		return nil, err
	}
	st = &stage{run: r, spec: s, cluster: cluster, writer: writer, namespace: namespaceOf(s),
		backend: s.backends()[0].WithDefaults().Name}
	defer func() {
		if err != nil {
			e := trouble(writer, err)
			e.Trouble.Interrupted = r.asked != nil && r.asked.Err() != nil
			err = joined(err, writer.Append(e))
		}
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
		defer cancel()
		err = joined(err, st.collect(clean))
		r.recorded(writer.Err())
		err = joined(err, writer.Close())
	}()
	defer noPanic(&err)
	ctx, release := whileOpen(ctx, writer.Broken(), writer.Err)
	defer release()
	if err := st.build(ctx); err != nil {
		return st, err
	}
	return st, st.perform(ctx)
}

func trouble(w *history.Writer, err error) history.Event {
	return history.Event{T: w.Now(), Trouble: &history.Trouble{What: err.Error()}}
}

// header says what is asked of the scenario.
func (r *run) header(s Spec, cluster clusters.Cluster) (history.Header, error) {
	facts, spec := r.settings.Describe(cluster), cluster.Spec()
	t := spec.Profile.Timings()
	h := history.Header{
		RunID: r.settings.RunID, Scenario: s.Name, Claim: s.Claim, Seed: r.settings.Seed,
		Holdfast: r.settings.Version, Mutant: s.Mutant, Base: time.Now(), Samples: history.SamplesOfItself,
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
			h.Plan.Lanes = append(h.Plan.Lanes, history.LanePlan{Lane: l.Lane, Target: l.Target, RatePerSecond: l.Rate})
		}
	}
	return h, nil
}

// judge reads the record back, judges it and keeps the result: what counts is what was written down.
func (r *run) judge(s Spec, dir string, recordErr error) result {
	recorded, err := history.Open(dir)
	if err != nil {
		return r.keep(s, judge.Found{}, errors.Join(recordErr, err))
	}
	verdicts := judge.Judge(recorded)
	if why := judge.Unsupported(recorded, verdicts); why != "" {
		return r.keepUnsupported(s, why)
	}
	if r.stop != nil && !slices.ContainsFunc(verdicts, broke) {
		return r.keep(s, judge.Found{}, r.stop)
	}
	r.where = recorded.Interrupted()
	return r.keep(s, judge.FoundBy(recorded, verdicts), nil)
}

func broke(v verdict.Verdict) bool { return v.Outcome == verdict.Violated }

// recorded ends the run where a record can no longer be written: the next one could not be, either. What is known by then finds
// room.
func (r *run) recorded(err error) {
	if err == nil {
		return
	}
	r.stop = joined(r.stop, err, history.FreeRoom(r.settings.Dir))
}

// random is the scenario's own source: the same for the same seed, whichever scenarios run before it.
func (r *run) random(s Spec) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.Name)) // never fails
	return rand.New(rand.NewPCG(r.settings.Seed, h.Sum64()))
}

// namespacePrefix is how the namespaces of scenarios begin.
const namespacePrefix = "hf-"

// namespaceOf a scenario: two scenarios on one cluster do not meet.
func namespaceOf(s Spec) string {
	return namespacePrefix + strings.ReplaceAll(s.Name, "/", "-")
}

// target is what the scenario's faults may touch.
func (st *stage) target(config *rest.Config) (fault.Target, error) {
	client, err := kubernetes.NewForConfig(observe.RecordEvictions(config, st.writer))
	if err != nil {
		return fault.Target{}, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return fault.Target{}, err
	}
	return fault.Target{
		Cluster: st.cluster, Client: client, Dynamic: untyped, Namespace: st.namespace, Workload: st.backend, SchedulableReplicas: st.spec.Room,
		StatefulSet: st.spec.Backend.StatefulSet, Rand: st.run.random(st.spec),
	}, nil
}

// collectLogs keeps the nodes' and pods' logs beside the record. Logs that cannot be had are no reason to fail.
func (r *run) collectLogs(ctx context.Context, cluster clusters.Cluster, s Spec) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	dir := filepath.Join(r.settings.Dir, "logs", filepath.FromSlash(s.Name))
	if err := cluster.CollectLogs(ctx, dir); err != nil {
		slog.Warn("collect logs", "scenario", s.Name, "error", err)
	}
}
