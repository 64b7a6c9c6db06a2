package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/run/environment"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// faultsOf are the faults of a scenario. With trials, each is done in every trial.
func faultsOf(s scenario.Spec) []fault.Fault {
	if s.Trials == 0 {
		return s.Faults
	}
	backends, list := s.Backends(), make([]fault.Fault, len(s.Faults))
	for i, f := range s.Faults {
		if once, is := f.(fault.RevertImmediately); is { // the runner looks for it at the outside
			list[i] = fault.RevertImmediately{Fault: inEach{fault: once.Fault, backends: backends}}
			continue
		}
		list[i] = inEach{fault: f, backends: backends}
	}
	return list
}

// inEach injects a fault into several workloads at the same time. It was seen when it was seen in all of them, and is
// reverted when it is in all of them.
type inEach struct {
	fault    fault.Fault
	backends []workloads.Backend
}

func (e inEach) String() string {
	return fmt.Sprintf("%s, in each of %d trials", e.fault, len(e.backends))
}

// Plan implements fault.Fault.
func (e inEach) Plan(ctx context.Context, t fault.Target) (fault.Disruption, error) {
	trials := make([]trial, len(e.backends))
	targets := make([]fault.Target, len(e.backends))
	for i, b := range e.backends {
		targets[i] = environment.TargetFor(t, b.Controllers()[0])
		targets[i].Rand = rand.New(rand.NewPCG(t.Rand.Uint64(), t.Rand.Uint64())) // one source is not for several goroutines
	}
	err := e.inAll(func(i int) (err error) {
		trials[i].injection, err = fault.Plan(ctx, e.fault, targets[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	over := ""
	if i := slices.IndexFunc(trials, func(t trial) bool { return t.injection.Momentary() != "" }); i >= 0 {
		over = trials[i].injection.Momentary()
	}
	return &fault.Effect{
		Do: func(ctx context.Context) error {
			return e.inAll(func(i int) error {
				return trials[i].injection.Apply(ctx, func(o fault.Observation) { trials[i].seen = o })
			})
		},
		See: func(ctx context.Context) (bool, fault.Observation, error) { return e.seen(trials) },
		Ask: func(ctx context.Context) (bool, string, error) { return e.active(ctx, trials) },
		Undo: func(ctx context.Context) error {
			return e.inAll(func(i int) error {
				return trials[i].injection.Revert(ctx, func(witness string) { trials[i].reverted = witness })
			})
		},
		Restore: func(context.Context) (string, error) {
			return witnessed(trials, func(t trial) string { return t.reverted }), nil
		},
		Over:  over,
		Stays: true, // each trial has seen the end of its own
	}, nil
}

// seen is what the witnesses of all trials saw. A trial of which nothing was seen has none in force.
func (e inEach) seen(trials []trial) (bool, fault.Observation, error) {
	var all fault.Observation
	for _, t := range trials {
		if !t.injection.Seen() {
			return false, fault.Observation{Witness: "not seen in all trials"}, nil
		}
		all.Nodes, all.Pods = append(all.Nodes, t.seen.Nodes...), append(all.Pods, t.seen.Pods...)
		all.Hit, all.Processes = all.Hit+t.seen.Hit, all.Processes+t.seen.Processes
	}
	slices.Sort(all.Nodes)
	all.Nodes = slices.Compact(all.Nodes)
	all.Witness = witnessed(trials, func(t trial) string { return t.seen.Witness })
	return true, all, nil
}

// active asks the witnesses of all trials. The fault is in force while it is in all of them.
func (e inEach) active(ctx context.Context, trials []trial) (bool, string, error) {
	holds, saw := make([]bool, len(trials)), make([]string, len(trials))
	err := e.inAll(func(i int) (err error) {
		holds[i], saw[i], err = trials[i].injection.Active(ctx)
		return err
	})
	if err != nil {
		return false, "", err
	}
	if i := slices.Index(holds, false); i >= 0 {
		return false, fmt.Sprintf("%s: %s", e.backends[i].WithDefaults().Name, saw[i]), nil
	}
	return true, fmt.Sprintf("in all %d trials; in the first: %s", len(trials), saw[0]), nil
}

// inAll does something in all trials at the same time, and returns all errors with the names of their backends.
func (e inEach) inAll(do func(i int) error) error {
	errs := make([]error, len(e.backends))
	var all sync.WaitGroup
	for i, b := range e.backends {
		all.Go(func() {
			err := func() (err error) {
				defer noPanic(&err)
				return do(i)
			}()
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", b.WithDefaults().Name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// trial is the fault in one workload.
type trial struct {
	injection *fault.Injection
	seen      fault.Observation
	reverted  string // what the witness saw then
}

// witnessed sums up what the witnesses of all trials saw; empty if one of them saw nothing.
func witnessed(trials []trial, saw func(trial) string) string {
	for _, t := range trials {
		if saw(t) == "" {
			return ""
		}
	}
	return fmt.Sprintf("in all %d trials; in the first: %s", len(trials), saw(trials[0]))
}
