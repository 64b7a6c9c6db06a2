package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
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

// Batch is a run with its own folder, settings and scenarios. Batches share their clusters.
type Batch struct {
	Name     string
	Settings Settings
	Chosen   []scenario.Spec // in this order
}

// Batches runs batches one after the other. An early end leaves the earlier batches whole. Clusters are opened and closed by the
// settings of the first batch. After is called with the run.json of each batch that was begun, also if it was interrupted. If it
// returns false, the following batches are not begun. Batches returns how many batches were run to their end. An error means that
// a run.json could not be written.
func Batches(ctx context.Context, batches []Batch, after func(batch int, f runfolder.File) (goOn bool)) (whole int, err error) {
	if len(batches) == 0 {
		return 0, errors.New("start: no batches")
	}
	for _, b := range batches {
		if len(b.Chosen) == 0 {
			return 0, fmt.Errorf("start %s: no scenarios were chosen", b.Name)
		}
		if err := b.Settings.validate(); err != nil {
			return 0, err
		}
	}
	r, err := begin(batches[0].Settings)
	if err != nil {
		return 0, err
	}
	defer r.end(ctx)
	for n, b := range batches {
		if ctx.Err() != nil {
			break
		}
		if n > 0 { // the first batch starts with the whole run
			b.Settings.Started = time.Now()
		}
		if err := r.next(b.Settings); err != nil {
			return whole, err
		}
		begun := 0
		for ; begun < len(b.Chosen) && ctx.Err() == nil; begun++ {
			r.takeTurn(ctx, b.Chosen[begun])
		}
		if begun == len(b.Chosen) {
			whole++
		}
		err = errors.Join(err, r.finish(b.Chosen))
		if !after(n, r.file) {
			break
		}
	}
	return whole, err
}

// Repeat runs the chosen scenarios once in each round. A round is a Batch.
func Repeat(ctx context.Context, rounds []Settings, chosen []scenario.Spec, after func(round int, f runfolder.File)) (whole int, err error) {
	// Every second round is in reverse order. It begins with the cluster of the round before, and no scenario always follows the
	// same other scenario.
	forth := ByCluster(chosen)
	back := slices.Clone(forth)
	slices.Reverse(back)
	batches := make([]Batch, len(rounds))
	for n, s := range rounds {
		batches[n] = Batch{Name: fmt.Sprintf("round %d", n+1), Settings: s, Chosen: [][]scenario.Spec{forth, back}[n%2]}
	}
	return Batches(ctx, batches, func(round int, f runfolder.File) bool {
		after(round, f)
		return true
	})
}

// RoundSeed is the seed of a round, counted from 1. It has 53 bits, as JSON's numbers do.
func RoundSeed(seed uint64, round int) uint64 {
	return mathrand.New(mathrand.NewPCG(seed, uint64(round))).Uint64()>>11 | 1
}

// budget is the time of a run: it decides which scenarios a run with a limited time still begins. The zero value is no limit.
type budget struct {
	Limit time.Duration
	Began time.Time

	ended time.Duration // how long what has ended takes on two cores
	spent bool
}

// Fits reports whether a scenario would end within the limit, at the pace of those that have ended. The pace includes
// making the clusters, and is at least that of two cores: that the first scenarios were fast says little about the others. Once something was left
// out, all else is: a short one that still fits tells less. What tells most always fits.
func (b *budget) Fits(s scenario.Spec, now time.Time) bool {
	if b.Limit == 0 || s.First {
		return true
	}
	about := s.About
	passed := now.Sub(b.Began)
	if b.ended > 0 && passed > b.ended {
		about = time.Duration(about.Seconds() * passed.Seconds() / b.ended.Seconds() * float64(time.Second))
	}
	b.spent = b.spent || passed > b.Limit || about > b.Limit-passed
	return !b.spent
}

// Ended notes that a scenario has ended.
func (b *budget) Ended(s scenario.Spec) { b.ended += s.About }

// Spent is why scenarios were left out, as in runfolder.File.Interrupted; empty: none was.
func (b *budget) Spent() string {
	if !b.spent {
		return ""
	}
	return runfolder.OutOfTime + b.Limit.String()
}
