package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// aimLimit bounds the wait for a victim that clients of every kind talk to. There is one at once, unless a fault before took most
// of the connections: then clients make others within seconds.
const aimLimit = 10 * time.Second

// aim picks the first of some candidates whose pods have just answered on every lane of the load: what is done to pods without
// traffic shows nothing of what clients notice, and a client that keeps its connection sees one pod. Candidates come in the order
// in which they were drawn; each is a list of pods. Where there is no load, or none of them qualifies for aimLimit, the first is
// taken, and a promise about a lane that never met the victim says so.
func (t Target) aim(ctx context.Context, candidates [][]string) (int, error) {
	if t.Answered == nil || len(candidates) < 2 {
		return 0, nil
	}
	first := 0
	err := poll.Until(ctx, "a victim that answers on every lane", aimLimit, func(ctx context.Context) (bool, string, error) {
		answered, err := t.Answered(ctx)
		if err != nil {
			return false, "", err
		}
		first = slices.IndexFunc(candidates, func(pods []string) bool { return onEvery(answered, pods) })
		return first >= 0, who(answered), nil
	})
	if ctx.Err() != nil {
		return 0, err
	}
	return max(first, 0), nil // the judge says what follows
}

// onEvery reports whether on every lane at least one of the pods has answered.
func onEvery(answered map[history.Lane][]string, pods []string) bool {
	for _, by := range answered {
		if !slices.ContainsFunc(by, func(pod string) bool { return slices.Contains(pods, pod) }) {
			return false
		}
	}
	return true
}

// who answers on which lane, in words.
func who(answered map[history.Lane][]string) string {
	var words []string
	for _, lane := range slices.Sorted(maps.Keys(answered)) {
		words = append(words, fmt.Sprintf("%s: %s", lane, strings.Join(slices.Sorted(slices.Values(answered[lane])), ", ")))
	}
	return strings.Join(words, "; ")
}

// toFront moves an element to the beginning, and leaves the order of the others.
func toFront[T any](list []T, i int) {
	one := list[i]
	copy(list[1:i+1], list[:i])
	list[0] = one
}
