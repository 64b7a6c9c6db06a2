// Package run runs scenarios on real clusters: see runner.story. For each scenario it creates a cluster or reuses the last one,
// deploys the workload, injects the faults while load flows, reverts them, collects what was observed, judges the record and
// removes the workload. An interrupted run is continued by Resume.
//
// It knows neither how a cluster is created (package clusters), nor what a fault does (fault), nor what a promise means
// (invariant).
package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
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

// again runs a scenario once more if it was Unknown because the machine was busy. Its verdict is that of the second run. A broken promise stays
// broken.
func (r *runner) again(ctx context.Context, s scenario.Spec, first result) result {
	if first.outcome != verdict.Unknown || !first.busy || first.interrupted || ctx.Err() != nil || r.stop != nil || r.pool.broken != nil {
		return first
	}
	aside, err := r.withdraw(s)
	if err != nil {
		r.settings.Progress.Note(fmt.Sprintf("  %s cannot run again: %v", s.Name, err))
		return first
	}
	r.settings.Progress.Note(fmt.Sprintf("  %s runs again: it was Unknown because the machine was busy", s.Name))
	r.settings.Progress.More()
	note := fmt.Sprintf("It ran first while the machine was busy, and was Unknown: %s. That record is in %s/%s.", first.why, aside, s.Name)
	s.Notes = append(slices.Clone(s.Notes), note)
	return r.one(ctx, s)
}

// withdraw takes the result of a scenario that is to run again out of run.json, and sets its record aside. After an error, the result is in run.json.
func (r *runner) withdraw(s scenario.Spec) (aside string, err error) {
	if aside, err = runfolder.Aside(r.settings.Dir); err != nil {
		return "", err
	}
	all := r.file.Scenarios
	r.file.Scenarios = slices.DeleteFunc(slices.Clone(all), func(kept runfolder.ScenarioResult) bool { return kept.Name == s.Name })
	// run.json comes first: if this process is killed now, a resumption sets the record aside.
	if err = r.file.Write(r.settings.Dir); err == nil {
		err = runfolder.SetAside(r.settings.Dir, aside, []string{s.Name})
	}
	if err != nil {
		r.file.Scenarios = all
		return "", errors.Join(err, r.file.Write(r.settings.Dir))
	}
	return aside, nil
}

// cure runs a scenario whose promise was broken again, with its remedies applied to the application, and says whether they cured it. The
// first result stays as it is: the manifests are as they were.
func (r *runner) cure(ctx context.Context, s scenario.Spec, broken result) {
	if !r.settings.Cure || broken.outcome != verdict.Violated || ctx.Err() != nil || r.stop != nil {
		return
	}
	fixed, rules, err := withFixes(s, broken.remedies)
	if err != nil {
		r.settings.Progress.Note("  the remedies cannot be applied: " + err.Error())
		return
	}
	if len(rules) == 0 {
		r.settings.Progress.Note("  no patch is known that takes the cause away")
		return
	}
	r.settings.Progress.More()
	again := r.one(ctx, fixed)
	r.settings.Progress.Note(fmt.Sprintf("  %s (%s)", broken.tried().Cured(again.tried(), strings.Join(rules, ", ")), fixed.Name))
}

// tried is what came of a scenario, to be compared with another run of it.
func (r result) tried() judge.Tried {
	return judge.Tried{Outcome: r.outcome, Verdicts: r.verdicts, Remedies: r.remedies}
}

// withFixes is the same scenario of the application with the fixes of some remedies.
func withFixes(s scenario.Spec, remedies []judge.Remedy) (fixed scenario.Spec, rules []string, err error) {
	steps, rules := judge.Fixes(remedies)
	fixed, err = s.Fixed(steps)
	if err != nil {
		return s, nil, err
	}
	fixed.Name += judge.FixedSuffix
	fixed.Claim = "with " + strings.Join(rules, ", ") + " mended, " + s.Claim
	return fixed, rules, nil
}

// further runs the scenarios that are made of a judged one and of what the audit found in its workload.
func (r *runner) further(ctx context.Context, s scenario.Spec, found result) {
	if r.settings.Further == nil || found.outcome == "" || found.err != nil {
		return
	}
	more, err := r.settings.Further(s, found.outcome, found.findings)
	if err != nil {
		r.settings.Progress.Note("  " + err.Error())
		return
	}
	for range more {
		r.settings.Progress.More()
	}
	for _, one := range more {
		if ctx.Err() != nil || r.stop != nil {
			return
		}
		r.one(ctx, one)
	}
}
