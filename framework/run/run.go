package run

import (
	"context"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/framework/injecting"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// one runs a scenario from its cluster to its verdicts, and keeps the result.
func (r *runner) one(ctx context.Context, s scenario.Spec) result {
	r.began, r.where, r.asked = time.Now(), "", ctx
	r.settings.Progress.begin(s)
	out := r.story(ctx, s)
	r.settings.Progress.end(s, out, time.Since(r.began))
	return out
}

// story is what happens in a scenario, in order: create, deploy, steady, disturb, recover, drain, judge, clear. What has begun
// is always drained, judged and cleared, even after an error, a panic or an interruption.
func (r *runner) story(ctx context.Context, s scenario.Spec) result {
	defer r.heard(ctx)
	cluster, err := r.create(ctx, &s)
	if err != nil {
		return r.notCreated(ctx, s, err)
	}
	ctx, release := whileOpen(ctx, r.pool.hold.Lost(), r.pool.hold.Err) // another run may take the cluster
	defer release()
	dir := filepath.Join(r.settings.Dir, filepath.FromSlash(s.Name))
	env, err := r.begin(s, cluster, dir)
	if err != nil { // the folder may hold another record, which is not judged
		r.ended(err)
		return r.keep(s, judge.Found{}, err)
	}
	err = r.record(ctx, env.Writer,
		env.Build,
		env.Prepare,
		env.StartLoad,
		func(ctx context.Context) error { return r.perform(ctx, env) }, // steady, disturb, recover: see play.run
	)
	err = injecting.Joined(err, r.drain(ctx, env))
	out := r.judge(s, dir, err)
	r.clear(ctx, env, out, err)
	return out
}
