package session

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/fault/undo/healer"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	"github.com/holdfast-ha/holdfast/framework/run/recording/inside"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
	"github.com/holdfast-ha/holdfast/framework/safety/roles"
	"github.com/holdfast-ha/holdfast/workloads"
)

// step does one step of the plan, and records and judges it. The error is why no other step may follow.
func (s *Session) step(ctx context.Context, planned disturb.Step) (runfolder.ScenarioResult, error) {
	name := s.NameOf(planned)
	s.options.Say("\n%s on %s: %s", name, planned.Workload, planned.Does)
	step, err := s.plan(ctx, planned)
	if err != nil {
		return s.undone(name, planned, err), err
	}
	s.show(step)
	remove, err := s.heal(ctx, step)
	if err != nil {
		return s.undone(name, planned, err), err
	}
	file, err := recording.RecordKnown(ctx, s.recorded(name, step), s.survey, s.body(step))
	if s.left == nil { // otherwise the healer is still needed
		err = errors.Join(err, remove(context.WithoutCancel(ctx)))
	}
	if len(file.Scenarios) == 0 {
		return s.undone(name, planned, err), err
	}
	return file.Scenarios[len(file.Scenarios)-1], err
}

// plan plans the fault on the cluster as it is now, and refuses what a rule refuses now.
func (s *Session) plan(ctx context.Context, planned disturb.Step) (step disturb.Step, err error) {
	r, snapshot, err := s.look(ctx, planned)
	if err != nil {
		return step, err
	}
	p := disturb.Make(r, snapshot)
	if len(p.Steps) == 1 && p.Goes(p.Steps[0]) {
		return p.Steps[0], nil
	}
	refusals := p.Refusals
	for _, one := range p.Steps {
		refusals = append(refusals, one.Refusals...)
	}
	return step, fmt.Errorf("it was not begun: %w", &RefusedError{refusals})
}

// look reads the cluster for a step alone.
func (s *Session) look(ctx context.Context, step disturb.Step) (r disturb.Request, snapshot disturb.Snapshot, err error) {
	r = s.options.Intent.Request
	r.Workloads = []disturb.Object{{Kind: step.Workload.Kind, Name: step.Workload.Name}}
	r.Faults = []catalogue.Fault{step.Of}
	if snapshot, err = s.reader.Read(ctx, r); err != nil {
		return r, snapshot, s.options.Access.Explain(err)
	}
	snapshot.Holder = "" // this run, or it is confirmed before the first change that the cluster is lost
	return r, snapshot, nil
}

// RefusedError means that rules refuse a step that was allowed when the run began.
type RefusedError struct{ Refusals []disturb.Refusal }

func (e *RefusedError) Error() string {
	if len(e.Refusals) == 0 {
		return "the workload is not there any more"
	}
	first := e.Refusals[0]
	return fmt.Sprintf("%s: %s (rule %d)", first.Object, first.Reason, first.Rule)
}

// show tells what is about to be done: the pods and the node are those of now.
func (s *Session) show(step disturb.Step) {
	for _, t := range step.Touches {
		s.options.Say("  %s: %s; undo: %s", t.Object, t.Does, t.Undo)
	}
}

// undone is the result of a step that has not been recorded.
func (s *Session) undone(name string, step disturb.Step, err error) runfolder.ScenarioResult {
	left := s.identity.Result(name, ClaimOf(step))
	left.Error, left.Outcome = err.Error(), string(verdict.Unknown)
	return left
}

// heal installs the healer, on nodes that the step does not disturb, and returns what removes it.
func (s *Session) heal(ctx context.Context, step disturb.Step) (remove func(context.Context) error, err error) {
	client, err := s.client(&step)
	if err != nil {
		return nil, err
	}
	home := s.options.Intent.Request.Home
	s.options.Say("  installing the healer, which undoes everything if this process cannot")
	may, err := healer.Needing(s.undoing(step))
	if err != nil {
		return nil, err
	}
	h := workloads.Healer{Run: s.identity.ID, Account: roles.Healer, Avoid: avoided(step), May: may}
	if err := healer.Install(ctx, client, h, workloads.Place{Namespace: home, Image: s.options.Image}); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := healer.Remove(ctx, client, home, s.identity.ID)
		return err
	}, nil
}

// undoing are the permissions that a healer needs to undo a step.
func (s *Session) undoing(step disturb.Step) (all []existing.Permission) {
	for _, right := range catalogue.Healing([]catalogue.Fault{step.Of}) {
		for _, namespace := range s.options.Intent.Request.Places(right.Where) {
			all = append(all, right.In(namespace))
		}
	}
	return all
}

// healing returns an error unless a healer would undo what is begun now.
func (s *Session) healing(ctx context.Context, client kubernetes.Interface) error {
	ready, _, err := healer.Ready(ctx, client, s.options.Intent.Request.Home)
	if err == nil && ready == 0 {
		err = unsteadyError("no healer pod is ready: if this process died now, nothing would undo the fault: see why with 'kubectl -n holdfast logs deployment/healer'")
	}
	return err
}

// avoided are the nodes that a step disturbs.
func avoided(step disturb.Step) []string {
	if step.Node == nil {
		return nil
	}
	return []string{step.Node.Name}
}

// recorded says how a step is recorded.
func (s *Session) recorded(name string, step disturb.Step) recording.Options {
	o, r := s.options, s.options.Intent.Request
	run := s.identity
	run.Scenario, run.Claim, run.Chosen = name, ClaimOf(step), s.chosen()
	return recording.Options{
		Access: o.Access, Namespaces: []string{r.Namespace}, Probes: o.Intent.Probes, From: o.From,
		Inside: inside.Workers(s.config(&step), inside.Options{
			Image: o.Image, Workers: o.Workers, For: step.Box.Duration + o.Recover, Home: r.Home, Avoid: avoided(step),
		}),
		Command: []string{"holdfast", "test", "--disturb", "--faults", step.Fault}, Before: o.Before, Recover: o.Recover, Settled: o.Settled,
		Does: doesOf(step), Class: classOf(step), Promised: o.Intent.Promises, Run: run, Say: o.Say,
	}
}

// doesOf are the kinds of disturbances as which the watches may see a step, with what it is done to.
func doesOf(step disturb.Step) (kinds []string) {
	of := append(avoided(step), step.Workload.Namespace+"/"+step.Workload.Name)[0]
	for _, kind := range step.Of.Seen {
		kinds = append(kinds, string(kind)+" of "+of)
	}
	return kinds
}

// classOf is the class of a step's fault. The step is judged by what is promised of that class, also if something else happens meanwhile: a container that a
// rollout makes its kubelet restart is the rollout's doing.
func classOf(step disturb.Step) apptest.Class {
	if step.Fault == catalogue.NodeKill.Name {
		return apptest.Involuntary
	}
	return apptest.Voluntary
}
