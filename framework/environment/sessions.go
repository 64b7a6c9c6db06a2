package environment

import (
	"context"
	"errors"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
)

// sessions are the load sessions of all load workers of a scenario.
type sessions []*collect.Session

// partOf is the share of one of several load workers in a plan: the same lanes, each with its share of the rate.
func partOf(plan load.Plan, workers int) load.Plan {
	lanes := make([]load.Lane, len(plan.Lanes))
	for i, l := range plan.Lanes {
		l.Rate /= float64(workers)
		lanes[i] = l
	}
	plan.Lanes = lanes
	return plan
}

// totals are the sums over all workers.
func (s sessions) totals() (sent, failed uint64) {
	for _, one := range s {
		t := one.Totals()
		sent, failed = sent+t.Sent, failed+t.Failed
	}
	return sent, failed
}

// answered are the pods that have just answered on each lane to at least one worker.
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

// stop ends every session, even if one of them returns an error.
func (s sessions) stop(ctx context.Context) error {
	var errs []error
	for _, one := range s {
		errs = append(errs, one.Stop(ctx))
	}
	return errors.Join(errs...)
}
