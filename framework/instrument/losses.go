package instrument

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/reports"
)

// LossEvery is of how many requests one is lost.
const LossEvery = 10_000

// how a request is lost.
type how int

const (
	answered  how = iota
	byReset       // the connection is reset
	byClose       // it is closed without an answer
	bySilence     // there never is an answer
)

// losses loses one request, at random, of each block of so many.
type losses struct {
	every uint64

	mu     sync.Mutex
	random *rand.Rand
	n      uint64 // requests so far
	victim uint64 // of the present block
	lost   map[string]how
}

func newLosses(every uint64, random *rand.Rand) *losses {
	return &losses{every: every, random: random, lost: make(map[string]how)}
}

// next says what becomes of the next request, which has this id.
func (l *losses) next(id string) how {
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
	kind := byReset + how(len(l.lost)%3)
	l.lost[id] = kind
	return kind
}

// Losses measures whether each request that a server loses has its failed row, and no other has, at all rates at once.
func Losses(ctx context.Context, dir string, lasting time.Duration, random *rand.Rand, done func(of, all int)) ([]reports.LossRow, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := &outage{base: time.Now()}
	var rigs []*rig
	var planted []*losses
	var errs []error
	for _, rate := range Rates {
		l := newLosses(LossEvery, rand.New(rand.NewPCG(random.Uint64(), random.Uint64())))
		r, err := startOn(ctx, o, l, filepath.Join(dir, fmt.Sprintf("losses-%g", rate)), rate, lasting)
		if err != nil {
			errs = append(errs, err)
			break
		}
		rigs, planted = append(rigs, r), append(planted, l)
	}
	if len(errs) == 0 {
		errs = append(errs, wait(ctx, lasting, done))
	}
	var rows []reports.LossRow
	for i, r := range rigs {
		run, err := r.stop(ctx)
		if errs = append(errs, err); errors.Join(errs...) != nil {
			continue
		}
		row, err := lossRow(run, r.rate, planted[i])
		rows, errs = append(rows, row), append(errs, err)
	}
	return rows, errors.Join(errs...)
}

// lossRow compares what was lost with what the record says.
func lossRow(run history.Run, rate float64, l *losses) (reports.LossRow, error) {
	row := reports.LossRow{RatePerSecond: rate, Every: int(l.every)}
	found, err := sift(run)
	if err != nil {
		return row, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := 0
	for _, lane := range lanes {
		n := found[lane]
		row.Requests += n.requests - n.unsent
		for i := range n.failed {
			r := &n.failed[i]
			switch {
			case l.lost[fmt.Sprintf("%s/%s/%d", r.Worker, r.Lane, r.Seq)] != answered:
				seen++
			case timedOut(r.Outcome):
				row.TimedOut++
			default:
				row.FalseAlarms++
			}
		}
	}
	row.Seen = reports.NewRate(seen, len(l.lost))
	return row, nil
}

// wait for a time that is itself what is wanted, and tell how much of it, in seconds, has passed.
func wait(ctx context.Context, span time.Duration, done func(of, all int)) error {
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
