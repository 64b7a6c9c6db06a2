package selftest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// LossEvery is the number of requests of which one is lost.
const LossEvery = 10_000

// loss is how a request is lost.
type loss int

const (
	answered  loss = iota // it is not lost
	byReset               // the connection is reset
	byClose               // the connection is closed without an answer
	bySilence             // there is never an answer
)

// losses loses one request, at random, of each block of requests.
type losses struct {
	every uint64 // size of a block

	mu     sync.Mutex
	random *rand.Rand
	n      uint64 // requests so far
	victim uint64 // position in the present block
	lost   map[string]loss
}

func newLosses(every uint64, random *rand.Rand) *losses {
	return &losses{every: every, random: random, lost: make(map[string]loss)}
}

// next decides what happens to the next request, which has this ID.
func (l *losses) next(id string) loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.n % l.every
	if at == 0 {
		l.victim = l.random.Uint64N(l.every)
	}
	l.n++
	if at != l.victim {
		return answered
	}
	kind := byReset + loss(len(l.lost)%3)
	l.lost[id] = kind
	return kind
}

// measureLosses measures, at all rates at once, whether exactly the requests that a server lost have failed rows.
func measureLosses(ctx context.Context, dir string, duration time.Duration, random *rand.Rand, done func(n, of int)) ([]LossRow, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var rigs []*rig
	var errs []error
	for _, rate := range Rates {
		l := newLosses(LossEvery, rand.New(rand.NewPCG(random.Uint64(), random.Uint64())))
		r, err := start(ctx, &outage{}, l, filepath.Join(dir, fmt.Sprintf("losses-%g", rate)), rate, duration)
		if err != nil {
			errs = append(errs, err)
			break
		}
		rigs = append(rigs, r)
	}
	if len(errs) == 0 {
		errs = append(errs, pass(ctx, duration, done))
	}
	var rows []LossRow
	for _, r := range rigs {
		run, err := r.stop(ctx)
		if errs = append(errs, err); errors.Join(errs...) != nil {
			continue
		}
		row, err := lossRow(run, r.rate, r.server.losses)
		rows, errs = append(rows, row), append(errs, err)
	}
	return rows, errors.Join(errs...)
}

// lossRow compares what was lost with what the record says.
func lossRow(run history.Run, rate float64, l *losses) (LossRow, error) {
	row := LossRow{RatePerSecond: rate, Every: int(l.every)}
	byLane, err := readRows(run)
	if err != nil {
		return row, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := 0
	for _, lane := range lanes {
		rows := byLane[lane]
		row.Requests += rows.requests - rows.unsent
		for i := range rows.failed {
			r := &rows.failed[i]
			switch {
			case l.lost[idOf(r)] != answered:
				seen++
			case timedOut(r.Outcome):
				row.TimedOut++
			default:
				row.FalseAlarms++
			}
		}
	}
	row.Seen = NewRate(seen, len(l.lost))
	return row, nil
}

// pass lets a time span pass, during which load flows. It reports once a second how many of its seconds have passed.
func pass(ctx context.Context, span time.Duration, done func(n, of int)) error {
	for began := time.Now(); ; {
		left := span - time.Since(began)
		if left <= 0 {
			return nil
		}
		if err := poll.Pass(ctx, min(left, time.Second)); err != nil {
			return err
		}
		done(int(min(time.Since(began), span).Seconds()), int(span.Seconds()))
	}
}
