package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/reach"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// reachTries is how often a request that came nowhere is sent again, and reachPause is how long after the one before. On a busy machine a
// connection may take longer than its limit.
const (
	reachTries = 3
	reachPause = time.Second
)

// Unreached is a request before the load that got no answer.
type Unreached struct {
	Worker int // its number, from 0
	reach.Trial
}

// UnreachedError means that load workers have not reached what they are to send to. Then every request of the load would fail, whatever
// is disturbed.
type UnreachedError struct {
	Workers int // all that were asked
	All     []Unreached
}

// Targets are the targets that were not reached, each with its first request.
func (e *UnreachedError) Targets() (firsts []Unreached) {
	for _, u := range e.All {
		if !slices.ContainsFunc(firsts, func(f Unreached) bool { return f.Target == u.Target }) {
			firsts = append(firsts, u)
		}
	}
	return firsts
}

func (e *UnreachedError) Error() string {
	first := e.All[0]
	workers := map[int]bool{}
	for _, u := range e.All {
		if u.Target == first.Target {
			workers[u.Worker] = true
		}
	}
	return fmt.Sprintf("%d of %d load workers cannot reach %s: %s (%s)", len(workers), e.Workers, first.Target, first.Outcome, first.Err)
}

// Reach has each worker send one request to each target of a plan, before the load. It returns an UnreachedError if a request of a worker
// comes nowhere time and again. Requests whose connection broke each time are returned: a mesh may do that, or the server. Every other
// answer, also a bad one, shows that the way is open.
func Reach(ctx context.Context, client *http.Client, workers []Worker, plan load.Plan) (broke []Unreached, err error) {
	body, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	began := time.Now()
	var mu sync.Mutex
	no := &UnreachedError{Workers: len(workers)}
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(maxCalls)
	for i, w := range workers {
		calls.Go(func() error {
			all, err := tryAgain(ctx, newRemote(client, w, func() history.Offset { return time.Since(began) }), body)
			if err != nil {
				return fmt.Errorf("load worker %s: %w", history.Share{Index: i, Workers: len(workers)}, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, t := range all {
				if u := (Unreached{Worker: i, Trial: t}); t.Broke() {
					broke = append(broke, u)
				} else {
					no.All = append(no.All, u)
				}
			}
			return nil
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, fmt.Errorf("try to reach what load %s leads to: %w", plan.ID, err)
	}
	if len(no.All) == 0 {
		return broke, nil
	}
	slices.SortStableFunc(no.All, func(a, b Unreached) int { return a.Worker - b.Worker })
	return broke, no
}

// tryAgain returns what a worker has not reached at the last try.
func tryAgain(ctx context.Context, r *remote, plan []byte) (unreached []reach.Trial, err error) {
	for try := range reachTries {
		if try > 0 {
			if err := poll.Pass(ctx, reachPause); err != nil {
				return nil, err
			}
		}
		var all []reach.Trial
		if err := r.ask(ctx, http.MethodPost, "/try", plan, &all); err != nil {
			return nil, err
		}
		unreached = slices.DeleteFunc(all, func(t reach.Trial) bool { return !t.Blocked() && !t.Broke() })
		if len(unreached) == 0 {
			return nil, nil
		}
	}
	return unreached, nil
}
