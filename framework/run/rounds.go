package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Repeat runs the chosen scenarios once a round. A round is a Batch, with its own seed. After hears of each round what is then in
// its run.json, the last one too, which may be cut short. It returns how many rounds came to their end; an error means that a
// round could not be kept.
func Repeat(ctx context.Context, rounds []Settings, chosen []scenario.Spec, after func(round int, f history.RunFile)) (whole int, err error) {
	// Every other one goes backwards: it begins with the cluster that the one before ended with, and no scenario always
	// follows the same other.
	forth := byCluster(chosen)
	back := slices.Clone(forth)
	slices.Reverse(back)
	batches := make([]Batch, len(rounds))
	for n, s := range rounds {
		batches[n] = Batch{Name: fmt.Sprintf("round %d", n+1), Settings: s, Chosen: [][]scenario.Spec{forth, back}[n%2]}
	}
	return Batches(ctx, batches, func(round int, f history.RunFile) bool {
		after(round, f)
		return true
	})
}

// RoundSeed a round, counted from 1, of what was begun with a seed: another for each, and of 53 bits, for JSON's numbers carry
// no more.
func RoundSeed(seed uint64, round int) uint64 {
	return rand.New(rand.NewPCG(seed, uint64(round))).Uint64()>>11 | 1
}
