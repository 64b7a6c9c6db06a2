package scenario

import (
	"context"
	"errors"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
)

// sessions are the loads of all workers of a scenario.
type sessions []*collect.Session

// partOf is what one of several workers has of a plan: the same lanes, at its part of their rates.
func partOf(plan load.Plan, workers int) load.Plan {
	lanes := make([]load.Lane, len(plan.Lanes))
	for i, l := range plan.Lanes {
		l.Rate /= float64(workers)
		lanes[i] = l
	}
	plan.Lanes = lanes
	return plan
}

// totals of all workers.
func (s sessions) totals() (sent, failed uint64) {
	for _, one := range s {
		t := one.Totals()
		sent, failed = sent+t.Sent, failed+t.Failed
	}
	return sent, failed
}

// answered are the pods that have just answered on each lane, to any worker.
func (s sessions) answered(ctx context.Context) (map[history.Lane][]string, error) {
	all := make(map[history.Lane][]string)
	for _, one := range s {
		some, err := one.Answered(ctx)
		if err != nil {
			return nil, err
		}
		for lane, pods := range some {
			all[lane] = append(all[lane], pods...)
		}
	}
	return all, nil
}

// stop ends all of them, also where one of them fails.
func (s sessions) stop(ctx context.Context) error {
	var errs []error
	for _, one := range s {
		errs = append(errs, one.Stop(ctx))
	}
	return errors.Join(errs...)
}
