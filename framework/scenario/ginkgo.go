package scenario

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
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// interruptGrace is how long an interrupted scenario may take to undo its faults, collect what was recorded, keep the logs
// and clear it all away.
const interruptGrace = revertLimit + 3*cleanLimit

// Run runs the chosen scenarios through Ginkgo and returns what was found: the same that lies in run.json. Ctrl-C ends
// the scenario at hand, undoes its faults, removes the cluster, and leaves what was recorded. An error means that
// nothing was run.
func Run(ctx context.Context, s Settings, chosen []Spec) (history.RunFile, error) {
	if len(chosen) == 0 {
		return history.RunFile{}, errors.New("start run: no scenarios were chosen")
	}
	if err := Start(s); err != nil {
		return history.RunFile{}, err
	}
	theRun.whole = ctx
	register(chosen)
	runSpecs(runLimit)
	theRun.end(ctx)
	return theRun.file, theRun.finish(chosen)
}

// runLimit is longer than any run: Ginkgo's own default of one hour is not.
const runLimit = 12 * time.Hour

// runSpecs has Ginkgo run what it was told of.
func runSpecs(limit time.Duration) {
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.GracePeriod, suite.Timeout = interruptGrace, limit
	formatter.ColorableStdOut = io.Discard // the run reports itself
	ginkgo.RunSpecs(silent{}, "holdfast", suite, reporter)
}

// Start sets up the run that the specs will find. Whoever runs them with Ginkgo's own command calls it before RunSpecs.
func Start(s Settings) error {
	if err := begin(s); err != nil {
		return err
	}
	return theRun.next(s)
}

// begin sets up the run, of which nothing is written yet.
func begin(s Settings) error {
	if theRun != nil {
		return fmt.Errorf("start run %s: run %s was started already", s.RunID, theRun.settings.RunID)
	}
	if err := s.validate(); err != nil {
		return err
	}
	theRun = &run{settings: &s, pool: pool{settings: &s}, token: rand.Text()}
	return nil
}

// next makes the run one with these settings, of which nothing is found yet. Its cluster stays.
func (r *run) next(s Settings) error {
	r.settings = &s
	if err := history.ReserveRoom(s.Dir); err != nil {
		return err
	}
	r.file = history.RunFile{
		ID: s.RunID, Started: s.Started, Holdfast: s.Version, Kubernetes: s.Kubernetes, Profile: string(s.Profile),
		Seed: s.Seed, Args: s.Args, Reproduce: s.Reproduce("", s.Kubernetes), Incident: s.Incident,
	}
	return r.file.Write(s.Dir)
}

// Register tells Ginkgo of the scenarios: those for the same cluster one after the other, else in the order in which
// they were described.
func Register(specs []Spec) {
	register(specs)
	ginkgo.AfterSuite(func(ctx ginkgo.SpecContext) {
		if err := theRun.pool.discard(ctx); err != nil {
			ginkgo.Fail(err.Error())
		}
	})
}

func register(specs []Spec) {
	ginkgo.Describe("scenarios", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
		for _, s := range byCluster(specs) {
			it(s)
		}
	})
}

// byCluster puts those for the same cluster one after the other.
func byCluster(specs []Spec) []Spec {
	sorted := slices.Clone(specs)
	slices.SortStableFunc(sorted, func(a, b Spec) int { return clusterRank(specs, a) - clusterRank(specs, b) })
	return sorted
}

// clusterRank numbers the clusters in the order in which they are first asked for.
func clusterRank(specs []Spec, s Spec) int {
	return slices.IndexFunc(specs, func(other Spec) bool { return sameCluster(other.Cluster, s.Cluster) })
}

func it(s Spec) {
	ginkgo.It(s.Name, ginkgo.Label(s.Suite()), func(ctx ginkgo.SpecContext) { theRun.judged(ctx, s) })
}

// judged runs a scenario, and tells Ginkgo if it did not hold. One that comes after an interruption, or after what ends the run,
// is not begun.
func (r *run) judged(ctx context.Context, s Spec) {
	if !r.turn.begin() {
		ginkgo.Skip("the run has ended")
	}
	defer r.turn.done()
	if r.stop != nil || r.whole != nil && r.whole.Err() != nil {
		ginkgo.Skip("the run has ended")
	}
	if r.whole != nil { // Ginkgo knows of no signals but two
		var release func()
		ctx, release = whileOpen(ctx, r.whole.Done(), func() error { return context.Cause(r.whole) })
		defer release()
	}
	result := r.one(ctx, s)
	if result.err != nil {
		ginkgo.Fail(fmt.Sprintf("%s: %v", s.Name, result.err))
	}
	if result.unsupported {
		ginkgo.Skip(result.why)
	}
	if result.outcome != verdict.Held {
		ginkgo.Fail(fmt.Sprintf("%s: %s: %s", s.Name, result.outcome, result.why))
	}
}

// silent takes Ginkgo's word that a spec failed. What failed is in the run's file.
type silent struct{}

func (silent) Fail() {}

// sameCluster tells whether two scenarios can share a cluster.
func sameCluster(a, b clusters.Spec) bool {
	return fmt.Sprintf("%+v", a.WithDefaults()) == fmt.Sprintf("%+v", b.WithDefaults())
}
