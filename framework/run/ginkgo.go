package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// interruptGrace is how long an interrupted scenario may take to revert its faults, collect its results, keep the logs and clear
// the cluster, without the many pods of a large cluster.
const interruptGrace = revertLimit + 3*cleanLimit

// Scenarios runs the chosen scenarios through Ginkgo and returns the content of run.json. Ctrl-C ends the present scenario,
// reverts its faults, removes the cluster, and keeps the record. An error means that nothing was run, or that run.json could not
// be completed, or a *deploy.RefusedError that ended the run. Further runs of a process go without Ginkgo, which runs once.
func Scenarios(ctx context.Context, s Settings, chosen []scenario.Spec) (runfolder.File, error) {
	if len(chosen) == 0 {
		return runfolder.File{}, errors.New("start run: no scenarios were chosen")
	}
	again := theRun != nil && !theRun.file.Ended.IsZero()
	if again {
		theRun = nil
	}
	if err := begin(s); err != nil {
		return runfolder.File{}, err
	}
	theRun.file.Chosen = chosenOf(s, byCluster(chosen))
	if err := theRun.next(s); err != nil {
		return runfolder.File{}, err
	}
	theRun.whole = ctx
	if again {
		for _, one := range byCluster(chosen) {
			theRun.takeTurn(context.WithoutCancel(ctx), one) // which ends with theRun.whole
		}
	} else {
		register(chosen)
		runSpecs(runLimit)
	}
	theRun.end(ctx)
	err := theRun.finish(chosen)
	return theRun.file, joined(err, deploy.Refused(theRun.stop))
}

// runLimit is longer than any run: Ginkgo's own default of one hour is not.
const runLimit = 12 * time.Hour

// runSpecs runs the specs that were declared to Ginkgo.
func runSpecs(limit time.Duration) {
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.GracePeriod, suite.Timeout = interruptGrace, limit
	formatter.ColorableStdOut = io.Discard // the run reports itself
	ginkgo.RunSpecs(silent{}, "holdfast", suite, reporter)
}

// Start sets up the run for Ginkgo's own command. Call it before RunSpecs.
func Start(s Settings) error {
	if err := begin(s); err != nil {
		return err
	}
	return theRun.next(s)
}

// begin sets up the run. It writes nothing.
func begin(s Settings) error {
	if theRun != nil {
		return fmt.Errorf("start run %s: run %s was started already", s.RunID, theRun.settings.RunID)
	}
	if err := s.validate(); err != nil {
		return err
	}
	theRun = &runner{settings: &s, pool: pool{settings: &s}, token: rand.Text()}
	return nil
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

// Register declares scenarios to Ginkgo, in their order, except that scenarios with the same cluster follow each other.
func Register(specs []scenario.Spec) {
	register(specs)
	ginkgo.AfterSuite(func(ctx ginkgo.SpecContext) {
		if err := theRun.pool.discard(ctx); err != nil {
			ginkgo.Fail(err.Error())
		}
	})
}

func register(specs []scenario.Spec) {
	ginkgo.Describe("scenarios", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
		for _, s := range byCluster(specs) {
			ginkgo.It(s.Name, ginkgo.Label(s.Labels()...), func(ctx ginkgo.SpecContext) { theRun.judged(ctx, s) })
		}
	})
}

// byCluster sorts scenarios so that those with the same cluster follow each other, after those that come first.
func byCluster(specs []scenario.Spec) []scenario.Spec {
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

// judged runs a scenario, and fails its Ginkgo spec unless it held.
func (r *runner) judged(ctx context.Context, s scenario.Spec) {
	switch found, ran := r.takeTurn(ctx, s); {
	case !ran:
		ginkgo.Skip("the run has ended")
	case found.err != nil:
		ginkgo.Fail(found.err.Error())
	case found.unsupported:
		ginkgo.Skip(found.why)
	case found.outcome != verdict.Held:
		ginkgo.Fail(fmt.Sprintf("%s: %s", found.outcome, found.why))
	}
}

// takeTurn runs a scenario. After an interruption, or after an error that ended the run, it is not run.
func (r *runner) takeTurn(ctx context.Context, s scenario.Spec) (_ result, ran bool) {
	if !r.turn.begin() {
		return result{}, false
	}
	defer r.turn.done()
	if r.stop != nil || r.whole != nil && r.whole.Err() != nil {
		return result{}, false
	}
	if !r.budget.Fits(s, time.Now()) {
		r.settings.Progress.Note(s.Name + " is left out: it would not end within " + r.budget.Spent())
		return result{}, false
	}
	defer r.budget.Ended(s)
	if r.whole != nil { // Ginkgo handles two signals only
		var release func()
		ctx, release = whileOpen(ctx, r.whole.Done(), func() error { return context.Cause(r.whole) })
		defer release()
	}
	found := r.again(ctx, s, r.one(ctx, s))
	r.cure(ctx, s, found)
	r.further(ctx, s, found)
	return found, true
}

// silent ignores Ginkgo's report of a failed spec, because run.json has it.
type silent struct{}

func (silent) Fail() {}

// sameCluster reports whether two scenarios can share a cluster.
func sameCluster(a, b clusters.Spec) bool {
	return fmt.Sprintf("%+v", a.WithDefaults()) == fmt.Sprintf("%+v", b.WithDefaults())
}
