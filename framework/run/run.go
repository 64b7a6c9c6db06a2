package run

import (
	"context"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// attempt is one scenario of a run, from its cluster to its result.
type attempt struct {
	*runner
	shown      *progress.Scenario
	began      time.Time
	kubernetes string          // version of its cluster
	asked      context.Context // of the scenario: it ends early if the run is interrupted
	where      string          // where the scenario was interrupted; empty: it was not
}

// one runs a scenario from its cluster to its verdicts, and keeps the result.
func (r *runner) one(ctx context.Context, s scenario.Spec) result {
	s = r.settings.adapted(s)
	a := &attempt{runner: r, began: time.Now(), asked: ctx, shown: r.settings.Progress.Begin(s)}
	var out result
	err := func() (err error) { // a bug that panics fails one scenario, and the cluster is given back
		defer noPanic(&err)
		out = a.story(poll.Listen(ctx, a.shown.Awaits), s)
		return nil
	}()
	if err != nil {
		out = a.keep(s, judge.Found{}, err)
	}
	a.shown.End(verdictWord(s, out), out.summary(), time.Since(a.began), remediesOf(out)...)
	return out
}

// story is what happens in a scenario, in order: create, deploy, steady, disturb, recover, drain, judge, clear. What has begun
// is always drained, judged and cleared, even after an error, a panic or an interruption.
func (a *attempt) story(ctx context.Context, s scenario.Spec) result {
	defer a.heard(ctx)
	cluster, err := a.create(ctx, &s)
	if err != nil {
		return a.notCreated(ctx, s, err)
	}
	ctx, release := whileOpen(ctx, a.pool.hold.Lost(), a.pool.hold.Err) // another run may take the cluster
	defer release()
	dir := filepath.Join(a.settings.Dir, filepath.FromSlash(s.Name))
	env, err := a.begin(s, cluster, dir)
	if err != nil { // the folder may hold another record, which is not judged
		a.ended(err)
		return a.keep(s, judge.Found{}, err)
	}
	err = a.record(ctx, env.Writer,
		env.Build,
		env.Prepare,
		env.StartLoad,
		func(ctx context.Context) error { return a.perform(ctx, env) }, // steady, disturb, recover: see play.run
	)
	err = joined(err, a.drain(ctx, env))
	out := a.judge(s, dir, err)
	a.clear(ctx, env, out, err)
	return out
}
