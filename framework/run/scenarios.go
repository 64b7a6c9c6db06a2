package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Scenarios runs the chosen scenarios and returns the content of run.json. When ctx ends, the present scenario reverts its faults and keeps
// its record, and the cluster is removed. An error means that nothing was run, or that run.json could not be completed, or is a
// *deploy.RefusedError that ended the run.
func Scenarios(ctx context.Context, s Settings, chosen []scenario.Spec) (runfolder.File, error) {
	if len(chosen) == 0 {
		return runfolder.File{}, errors.New("start run: no scenarios were chosen")
	}
	r, err := begin(s)
	if err != nil {
		return runfolder.File{}, err
	}
	sorted := ByCluster(chosen)
	for _, one := range sorted {
		r.file.Chosen = append(r.file.Chosen, runfolder.Chosen{Name: one.Name})
	}
	if err := r.next(s); err != nil {
		return runfolder.File{}, err
	}
	return r.rest(ctx, sorted, chosen)
}

// rest runs the scenarios of a run that have no result, and ends the run.
func (r *runner) rest(ctx context.Context, left, chosen []scenario.Spec) (runfolder.File, error) {
	for _, one := range left {
		r.takeTurn(ctx, one)
	}
	r.end(ctx)
	err := r.finish(chosen)
	_ = r.lock.Close()
	return r.file, joined(err, deploy.Refused(r.stop))
}

// begin sets up a run. It writes nothing.
func begin(s Settings) (*runner, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	r := &runner{settings: &s, pool: s.Shared, token: rand.Text()}
	if r.pool == nil {
		r.pool = &Pool{}
	}
	r.pool.settings = &s
	return r, nil
}

// next begins a run.json with these settings. The cluster stays.
func (r *runner) next(s Settings) error {
	r.settings = &s
	r.budget.Limit, r.budget.Began = s.TimeBudget, s.Started
	if err := runfolder.ReserveRoom(s.Dir); err != nil {
		return err
	}
	if err := r.lockFolder(s.Dir); err != nil {
		return fmt.Errorf("start run %s: %w", s.RunID, err)
	}
	r.file = runfolder.File{
		Chosen: r.file.Chosen,
		ID:     s.RunID, Started: s.Started, Holdfast: s.Version, Kubernetes: s.Kubernetes, Profile: string(s.Profile),
		Seed: s.Seed, Args: s.Args, Reproduce: s.Reproduce("", s.Kubernetes), Incident: s.Incident,
		Machine: s.Machine,
	}
	return r.file.Write(s.Dir)
}

// lockFolder makes this process the only one that writes to a run's folder.
func (r *runner) lockFolder(dir string) (err error) {
	if r.lock != nil { // of the batch before
		_ = r.lock.Close()
		r.lock = nil
	}
	r.lock, err = runfolder.Lock(dir)
	return err
}

// end gives the cluster back, also if ctx has ended, unless further runs share it.
func (r *runner) end(ctx context.Context) {
	if r.settings.Shared != nil {
		return
	}
	if err := r.pool.Discard(ctx); err != nil {
		r.settings.Progress.Note(err.Error()) // the verdicts stay valid
	}
}

// ByCluster sorts scenarios so that those with the same cluster follow each other, after those that come first.
func ByCluster(specs []scenario.Spec) []scenario.Spec {
	rank := func(s scenario.Spec) int {
		if s.First {
			return clusterRank(specs, s) - len(specs)
		}
		return clusterRank(specs, s)
	}
	sorted := slices.Clone(specs)
	slices.SortStableFunc(sorted, func(a, b scenario.Spec) int { return rank(a) - rank(b) })
	return sorted
}

// clusterRank numbers the clusters in the order of their first scenarios.
func clusterRank(specs []scenario.Spec, s scenario.Spec) int {
	return slices.IndexFunc(specs, func(other scenario.Spec) bool { return sameCluster(other.Cluster, s.Cluster) })
}

// takeTurn runs a scenario. After an interruption, or after an error that ended the run, it is not run.
func (r *runner) takeTurn(ctx context.Context, s scenario.Spec) (_ result, ran bool) {
	if r.stop != nil || ctx.Err() != nil {
		return result{}, false
	}
	if !r.budget.Fits(s, time.Now()) {
		r.settings.Progress.Note(s.Name + " is left out: it would not end within " + r.budget.Spent())
		return result{}, false
	}
	defer r.budget.Ended(s)
	found := r.again(ctx, s, r.one(ctx, s))
	r.cure(ctx, s, found)
	r.further(ctx, s, found)
	return found, true
}

// sameCluster reports whether two scenarios can share a cluster.
func sameCluster(a, b clusters.Spec) bool {
	return fmt.Sprintf("%+v", a.WithDefaults()) == fmt.Sprintf("%+v", b.WithDefaults())
}

// Started is a run whose scenarios are called from outside, as Ginkgo does.
type Started struct{ runner *runner }

// Start begins a run in its folder.
func Start(s Settings) (Started, error) {
	r, err := begin(s)
	if err == nil {
		err = r.next(s)
	}
	return Started{r}, err
}

// Scenario runs a scenario. The error says why it did not hold, skipped why it was not run.
func (s Started) Scenario(ctx context.Context, spec scenario.Spec) (skipped string, err error) {
	switch found, ran := s.runner.takeTurn(ctx, spec); {
	case !ran:
		return "the run has ended", nil
	case found.err != nil:
		return "", found.err
	case found.unsupported:
		return found.why, nil
	case found.outcome != verdict.Held:
		return "", fmt.Errorf("%s: %s", found.outcome, found.why)
	}
	return "", nil
}

// End gives the cluster back, and completes run.json.
func (s Started) End(ctx context.Context) error {
	s.runner.end(ctx)
	return s.runner.finish(nil)
}
