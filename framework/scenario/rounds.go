package scenario

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/onsi/ginkgo/v2"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Repeat runs the chosen scenarios once a round. A round is a run of its own, with its own folder and seed; the rounds share
// their clusters, which are opened and closed as the first one's settings say. They come one after the other, so that
// whatever ends them early leaves every scenario with as many runs as the others, or one more. After hears of each round what is
// then in its run.json, the last one too, which may be cut short. It returns how many rounds came to their end; an error
// means that a round could not be kept.
func Repeat(rounds []Settings, chosen []Spec, after func(round int, f history.RunFile)) (whole int, err error) {
	if len(chosen) == 0 || len(rounds) == 0 {
		return 0, errors.New("start rounds: no scenarios were chosen, or no rounds")
	}
	for _, s := range rounds {
		if err := s.validate(); err != nil {
			return 0, err
		}
	}
	if err := begin(rounds[0]); err != nil {
		return 0, err
	}
	r := &repetition{rounds: rounds, chosen: chosen, at: -1, after: after}
	r.register()
	runSpecs(time.Duration(len(rounds)) * runLimit)
	r.close() // what was interrupted
	return r.whole, errors.Join(r.errs...)
}

// SeedOf a round, counted from 1, of what was begun with a seed: another for each, and of 53 bits, for JSON's numbers carry
// no more.
func SeedOf(seed uint64, round int) uint64 {
	return rand.New(rand.NewPCG(seed, uint64(round))).Uint64()>>11 | 1
}

// repetition is Repeat at work.
type repetition struct {
	rounds []Settings
	chosen []Spec
	after  func(int, history.RunFile)
	at     int // the round that is open, counted from 0; -1: none was
	done   int // scenarios of it
	whole  int // rounds that came to their end
	errs   []error
}

// register tells Ginkgo of all rounds. Every other one goes backwards: it begins with the cluster that the one before ended
// with, and no scenario always follows the same other.
func (r *repetition) register() {
	forth := byCluster(r.chosen)
	back := slices.Clone(forth)
	slices.Reverse(back)
	ginkgo.Describe("rounds", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
		for n := range r.rounds {
			for _, s := range [][]Spec{forth, back}[n%2] {
				ginkgo.It(fmt.Sprintf("round %d: %s", n+1, s.Name), func(ctx ginkgo.SpecContext) {
					if n != r.at {
						r.open(n)
					}
					defer r.count()
					theRun.judged(ctx, s)
				})
			}
		}
	})
	closeAfterSuite()
}

// open makes the run at hand that of a round.
func (r *repetition) open(n int) {
	r.at, r.done = n, 0
	s := r.rounds[n]
	if n > 0 { // the first one's moment is that of the whole
		s.Started = time.Now()
	}
	if err := theRun.turn(s); err != nil {
		r.errs = append(r.errs, err)
		ginkgo.Fail(err.Error())
	}
}

// count a scenario that is over, and with the last of them the round.
func (r *repetition) count() {
	if r.done++; r.done == len(r.chosen) {
		r.close()
		r.whole++
	}
}

// close ends the round that is open, if there is one. What was not begun of it is in none of its results: it says nothing.
func (r *repetition) close() {
	if r.at < 0 || !theRun.file.Ended.IsZero() {
		return
	}
	if err := theRun.finish(nil); err != nil {
		r.errs = append(r.errs, err)
	}
	r.after(r.at, theRun.file)
}
