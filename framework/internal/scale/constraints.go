package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/provider"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/framework/scaling"
)

// constraints binds the same number of pods with each constraint, in several rounds, each in another order, and prints the medians of the
// rounds with their ratio to none.
func constraints(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("constraints", flag.ContinueOnError)
	pods := flags.Int("pods", 90, "pods to bind; with anti-affinity each needs a node of its own")
	rounds := flags.Int("rounds", 5, "how often each constraint is measured")
	seed := flags.Uint64("seed", 1, "of the order in each round")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *pods < 1 || *rounds < 1 {
		return fmt.Errorf("want the name of one cluster, and at least one pod and one round")
	}
	p, err := provider.Kind(ctx, os.Stderr, func(string) {})
	if err != nil {
		return err
	}
	c, err := p.Open(ctx, flags.Arg(0))
	if err != nil {
		return err
	}
	if n := c.Spec().SimulatedNodes; *pods > n {
		return fmt.Errorf("%d pods, and cluster %s has %d simulated nodes: with anti-affinity the rest would stay pending", *pods, c.Name(), n)
	}
	all := scaling.Constraints()
	found, err := measureConstraints(ctx, c, all, *pods, *rounds, rand.New(rand.NewPCG(*seed, 0)))
	if err != nil {
		return err
	}
	gaps, unseen := 0, 0
	for _, bindings := range found {
		for _, b := range bindings {
			gaps, unseen = gaps+b.Gaps, unseen+b.Unseen
		}
	}
	seen := fmt.Sprintf("%d pods in %d rounds, each in another order. Medians, their ratio to none, and the range of the rounds. An attempt includes the writes "+
		"to the API server. The records have %s, and %s had a node when first seen; these are not counted as seen to bound. "+
		"Pods of none and anti-affinity have no controller, and come more slowly, so that they wait less.\n\n%s",
		*pods, *rounds, prose.Count(gaps, "gap"), prose.Count(unseen, "pod"), comparison(all, found))
	_, err = io.WriteString(out, seen)
	return err
}

// measureConstraints holds a cluster for bindRounds, whose pods no run may disturb and no heal may remove. If another process takes the cluster
// all the same, measuring ends.
func measureConstraints(ctx context.Context, c clusters.Cluster, all []scaling.Constraint, pods, rounds int, order *rand.Rand) (found map[string][]scaling.Binding, err error) {
	held, err := maintenance.Take(ctx, c, "scale constraints")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.Release(ctx)) }() // also after an interrupt
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-held.Lost():
			cancel(held.Err())
		case <-ctx.Done():
		}
	}()
	found, err = bindRounds(ctx, c, all, pods, rounds, order)
	if cause := context.Cause(ctx); err != nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err) // a call to the API server does not say why its context has ended
	}
	return found, err
}

// bindRounds binds pods with each constraint in several rounds, and returns what was measured by the constraints' names.
func bindRounds(ctx context.Context, c clusters.Cluster, all []scaling.Constraint, pods, rounds int, order *rand.Rand) (found map[string][]scaling.Binding, err error) {
	records, err := os.MkdirTemp("", "scaling-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(records)) }()
	found = map[string][]scaling.Binding{}
	for round := range rounds {
		for _, i := range order.Perm(len(all)) {
			b, err := scaling.Bind(ctx, c, all[i], pods, filepath.Join(records, strconv.Itoa(round)+"-"+strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			found[b.Constraint] = append(found[b.Constraint], b)
			_, _ = fmt.Fprintf(os.Stderr, "round %d: %s: processor time %s a pod, algorithm %s, attempt %s, sli %s, record %s, %d gaps, %d pods replaced\n", round+1, b.Constraint, ms(b.Scheduler.CPUPerPod()), ms(b.Scheduler.Algorithm.Mean()),
				ms(b.Scheduler.Attempt.Mean()), ms(b.Scheduler.SLI.Mean()), ms(b.Recorded), b.Gaps, b.Replaced)
		}
	}
	return found, nil
}

// figures are what is compared.
var figures = []struct {
	name string
	of   func(scaling.Binding) float64
}{
	{"processor time a pod", func(b scaling.Binding) float64 { return b.Scheduler.CPUPerPod() }},
	{"finding a node", func(b scaling.Binding) float64 { return b.Scheduler.Algorithm.Mean() }},
	{"an attempt", func(b scaling.Binding) float64 { return b.Scheduler.Attempt.Mean() }},
	{"queue to bound", func(b scaling.Binding) float64 { return b.Scheduler.SLI.Mean() }},
	{"seen to bound", func(b scaling.Binding) float64 { return b.Recorded }},
}

// comparison is a table of the medians, each with its ratio to the first constraint.
func comparison(all []scaling.Constraint, found map[string][]scaling.Binding) string {
	text := "| constraint |"
	for _, f := range figures {
		text += " " + f.name + " |"
	}
	text += "\n| --- |"
	for range figures {
		text += " --- |"
	}
	text += "\n"
	for _, c := range all {
		text += "| " + c.Name + " |"
		for _, f := range figures {
			now, none := medianOf(found[c.Name], f.of), medianOf(found[all[0].Name], f.of)
			least, most := bounds(found[c.Name], f.of)
			text += fmt.Sprintf(" %s (%s; %s to %s) |", ms(now), ratio(now, none), ms(least), ms(most))
		}
		text += "\n"
	}
	return text
}

// ratio writes how many times another one a figure is. To one of 0, which was not measured, there is no ratio: a dash.
func ratio(now, none float64) string {
	if none == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f x", now/none)
}

func medianOf(rounds []scaling.Binding, of func(scaling.Binding) float64) float64 {
	values := make([]float64, len(rounds))
	for i, b := range rounds {
		values[i] = of(b)
	}
	return stats.Median(values)
}

// bounds are the least and the most of the rounds.
func bounds(rounds []scaling.Binding, of func(scaling.Binding) float64) (least, most float64) {
	least, most = math.Inf(1), 0
	for _, b := range rounds {
		least, most = min(least, of(b)), max(most, of(b))
	}
	return least, most
}

// ms writes milliseconds with three digits, and seconds from one second on.
func ms(seconds float64) string {
	if seconds >= 1 {
		return fmt.Sprintf("%.2f s", seconds)
	}
	return fmt.Sprintf("%.3g ms", 1000*seconds)
}
