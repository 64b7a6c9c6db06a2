package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Batch is a run with its own folder, settings and scenarios. Batches share their clusters.
type Batch struct {
	Name     string
	Settings Settings
	Chosen   []scenario.Spec // in this order
}

// Batches runs batches one after the other. An early end leaves the earlier batches whole. Clusters are opened and closed by the
// settings of the first batch. After is called with the run.json of each batch that was begun, also if it was interrupted. If it
// returns false, the following batches are not begun. Batches returns how many batches were run to their end. An error means that
// a run.json could not be written.
func Batches(ctx context.Context, batches []Batch, after func(batch int, f runfolder.File) (goOn bool)) (whole int, err error) {
	if len(batches) == 0 {
		return 0, errors.New("start: no batches")
	}
	for _, b := range batches {
		if len(b.Chosen) == 0 {
			return 0, fmt.Errorf("start %s: no scenarios were chosen", b.Name)
		}
		if err := b.Settings.validate(); err != nil {
			return 0, err
		}
	}
	r, err := begin(batches[0].Settings)
	if err != nil {
		return 0, err
	}
	defer r.end(ctx)
	for n, b := range batches {
		if ctx.Err() != nil {
			break
		}
		if n > 0 { // the first batch starts with the whole run
			b.Settings.Started = time.Now()
		}
		if err := r.next(b.Settings); err != nil {
			return whole, err
		}
		begun := 0
		for ; begun < len(b.Chosen) && ctx.Err() == nil; begun++ {
			r.takeTurn(ctx, b.Chosen[begun])
		}
		if begun == len(b.Chosen) {
			whole++
		}
		err = errors.Join(err, r.finish(b.Chosen))
		if !after(n, r.file) {
			break
		}
	}
	return whole, err
}

// Repeat runs the chosen scenarios once in each round. A round is a Batch.
func Repeat(ctx context.Context, rounds []Settings, chosen []scenario.Spec, after func(round int, f runfolder.File)) (whole int, err error) {
	// Every second round is in reverse order. It begins with the cluster of the round before, and no scenario always follows the
	// same other scenario.
	forth := ByCluster(chosen)
	back := slices.Clone(forth)
	slices.Reverse(back)
	batches := make([]Batch, len(rounds))
	for n, s := range rounds {
		batches[n] = Batch{Name: fmt.Sprintf("round %d", n+1), Settings: s, Chosen: [][]scenario.Spec{forth, back}[n%2]}
	}
	return Batches(ctx, batches, func(round int, f runfolder.File) bool {
		after(round, f)
		return true
	})
}

// RoundSeed is the seed of a round, counted from 1. It has 53 bits, as JSON's numbers do.
func RoundSeed(seed uint64, round int) uint64 {
	return rand.New(rand.NewPCG(seed, uint64(round))).Uint64()>>11 | 1
}
