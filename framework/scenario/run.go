package scenario

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/observe"
)

// cleanLimit bounds each of the three things done after a scenario, whatever came of it: to collect what was recorded, to
// keep the logs, and to clear it away.
const cleanLimit = 3 * time.Minute

// run is all scenarios of one `holdfast run`.
type run struct {
	settings   *Settings
	pool       pool
	file       history.RunFile
	began      time.Time      // the scenario at hand
	kubernetes string         // what its cluster runs
	built      clusters.Image // this executable; see image
}

// theRun is set by start. Ginkgo's tree is built before its settings are known, so the specs find it here.
var theRun *run

// result is what came of one scenario.
type result struct {
	outcome invariant.Outcome
	why     string
	err     error // the harness failed before anything could be judged
	// unsupported says that what it takes is not to be had here, and Why says what: there is no outcome.
	unsupported bool
}

// one runs a scenario from its cluster to its verdicts and keeps the result.
func (r *run) one(ctx context.Context, s Spec) result {
	r.began = time.Now()
	r.settings.Progress.begin(s)
	out := r.attempt(ctx, s)
	r.settings.Progress.end(s, out, time.Since(r.began))
	return out
}

func (r *run) attempt(ctx context.Context, s Spec) result {
	s.Cluster = r.override(s.Cluster)
	r.settings.Progress.now(history.Provision, "")
	r.kubernetes = s.Cluster.Kubernetes // also where no cluster can be made of it
	cluster, err := r.pool.get(ctx, s.Cluster)
	if err != nil {
		return r.keep(s, nil, err)
	}
	r.kubernetes = cluster.Spec().Kubernetes
	dir := filepath.Join(r.settings.Dir, filepath.FromSlash(s.Name))
	st, recordErr := r.record(ctx, s, cluster, dir)
	if recordErr != nil {
		slog.Warn("the scenario did not run to its end", "scenario", s.Name, "error", recordErr)
	}
	if st == nil { // what may lie there is another's record
		return r.keep(s, nil, recordErr)
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
	if out.err != nil || out.outcome != invariant.Held && !out.unsupported || r.settings.KeepLogs {
		r.collectLogs(ctx, st.cluster, st.spec)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	if err := r.pool.keepIfHealthy(ctx, st.clear); err != nil {
		slog.Warn("clear the scenario away", "scenario", st.spec.Name, "error", err)
	}
}

// override applies what the run asks of every cluster.
func (r *run) override(c clusters.Spec) clusters.Spec {
	if r.settings.Kubernetes != "" {
		c.Kubernetes = r.settings.Kubernetes
	}
	if r.settings.Profile != "" {
		c.Profile = r.settings.Profile
	}
	c.LeaderElection = c.LeaderElection || r.settings.LeaderElection
	return c.WithDefaults()
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
			err = errors.Join(err, writer.Append(trouble(writer, err)))
		}
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
		defer cancel()
		err = errors.Join(err, st.collect(clean), writer.Close())
	}()
	defer noPanic(&err)
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
		Holdfast: r.settings.Version, Mutant: s.Mutant, Base: time.Now(),
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
		return r.keep(s, nil, errors.Join(recordErr, err))
	}
	verdicts := invariant.Judge(recorded)
	if why := invariant.Unsupported(recorded, verdicts); why != "" {
		return r.keepUnsupported(s, why)
	}
	return r.keep(s, verdicts, nil)
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
		Cluster: st.cluster, Client: client, Dynamic: untyped, Namespace: st.namespace, Workload: st.backend, Room: st.spec.Room,
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
