package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/environment"
	"github.com/holdfast-ha/holdfast/framework/fault"
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
		list[i] = inEach{fault: f, backends: backends}
	}
	return list
}

// inEach does a fault to several workloads at the same time. It was seen when it was seen in all of them, and is healed
// when it is in all of them.
type inEach struct {
	fault    fault.Fault
	backends []workloads.Backend
}

func (e inEach) String() string {
	return fmt.Sprintf("%s, in each of %d trials", e.fault, len(e.backends))
}

// Inject implements fault.Fault.
func (e inEach) Inject(ctx context.Context, t fault.Target) (fault.Heal, error) {
	heard, heals := make([]hearing, len(e.backends)), make([]fault.Heal, len(e.backends))
	targets := make([]fault.Target, len(e.backends))
	for i, b := range e.backends {
		targets[i] = environment.TargetFor(t, b.Controllers()[0])
		heard[i].Recorder = t.Record
		targets[i].Record = &heard[i]
		targets[i].Rand = rand.New(rand.NewPCG(t.Rand.Uint64(), t.Rand.Uint64())) // one source is not for several goroutines
	}
	err := e.inAll(func(i int) (err error) {
		heals[i], err = e.fault.Inject(ctx, targets[i])
		return err
	})
	if err == nil {
		var nodes, pods []string
		for i := range heard {
			nodes, pods = append(nodes, heard[i].nodes...), append(pods, heard[i].pods...)
		}
		slices.Sort(nodes)
		if witness, ok := witnessed(heard, func(h hearing) string { return h.seen }); ok {
			t.Record.Seen(slices.Compact(nodes), pods, witness)
			e.last(t.Record, heard)
		}
	}
	return func(ctx context.Context) error {
		err := e.inAll(func(i int) error {
			if heals[i] == nil { // Inject panicked before it returned
				return nil
			}
			return heals[i](ctx)
		})
		if witness, ok := witnessed(heard, func(h hearing) string { return h.healed }); ok && err == nil {
			t.Record.Healed(witness)
		}
		return err
	}, err
}

// last has the witnesses of all trials asked, where there are any. The fault lasts while it does in all of them.
func (e inEach) last(record fault.Recorder, heard []hearing) {
	if !slices.ContainsFunc(heard, func(h hearing) bool { return h.still != nil }) {
		return
	}
	record.Lasts(func(ctx context.Context) (bool, string, error) {
		holds, saw := make([]bool, len(heard)), make([]string, len(heard))
		err := e.inAll(func(i int) (err error) {
			if heard[i].still == nil {
				return errors.New("nobody can tell whether it lasts")
			}
			holds[i], saw[i], err = heard[i].still(ctx)
			return err
		})
		if err != nil {
			return false, "", err
		}
		if i := slices.Index(holds, false); i >= 0 {
			return false, fmt.Sprintf("%s: %s", e.backends[i].WithDefaults().Name, saw[i]), nil
		}
		return true, fmt.Sprintf("in all %d trials; in the first: %s", len(heard), saw[0]), nil
	})
}

// inAll does something in all trials at once, and says where it went wrong.
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

// hearing keeps what the witness of one trial said. A trial speaks in one goroutine.
type hearing struct {
	fault.Recorder // takes what the trials need not agree on
	nodes, pods    []string
	seen, healed   string
	still          fault.Lasting
}

func (h *hearing) Seen(nodes, pods []string, witness string) {
	h.nodes, h.pods, h.seen = nodes, pods, witness
}

func (h *hearing) Lasts(still fault.Lasting) { h.still = still }

func (h *hearing) Healed(witness string) { h.healed = witness }

// witnessed sums up what the witnesses of all trials said. A trial whose witness said nothing was not seen.
func witnessed(heard []hearing, said func(hearing) string) (words string, all bool) {
	for _, h := range heard {
		if said(h) == "" {
			return "", false
		}
	}
	return fmt.Sprintf("in all %d trials; in the first: %s", len(heard), said(heard[0])), true
}
