package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Repeat runs the chosen scenarios once in each round. A round is a Batch. After is called with the run.json of each round that was
// begun, also if it was interrupted. Repeat returns how many rounds were run to their end. An error means that a run.json could not
// be written.
func Repeat(ctx context.Context, rounds []Settings, chosen []scenario.Spec, after func(round int, f runfolder.File)) (whole int, err error) {
	// Every second round is in reverse order. It begins with the cluster of the round before, and no scenario always follows the
	// same other scenario.
	forth := byCluster(chosen)
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
