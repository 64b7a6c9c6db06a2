package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Repeat runs the chosen scenarios once a round. A round is a Part, with its own seed. After hears of each round what is then in
// its run.json, the last one too, which may be cut short. It returns how many rounds came to their end; an error means that a
// round could not be kept.
func Repeat(ctx context.Context, rounds []Settings, chosen []Spec, after func(round int, f history.RunFile)) (whole int, err error) {
	// Every other one goes backwards: it begins with the cluster that the one before ended with, and no scenario always
	// follows the same other.
	forth := byCluster(chosen)
	back := slices.Clone(forth)
	slices.Reverse(back)
	parts := make([]Part, len(rounds))
	for n, s := range rounds {
		parts[n] = Part{Name: fmt.Sprintf("round %d", n+1), Settings: s, Chosen: [][]Spec{forth, back}[n%2]}
	}
	return RunParts(ctx, parts, func(round int, f history.RunFile) bool {
		after(round, f)
		return true
	})
}

// SeedOf a round, counted from 1, of what was begun with a seed: another for each, and of 53 bits, for JSON's numbers carry
// no more.
func SeedOf(seed uint64, round int) uint64 {
	return rand.New(rand.NewPCG(seed, uint64(round))).Uint64()>>11 | 1
}
