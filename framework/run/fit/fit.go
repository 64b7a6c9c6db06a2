package fit

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// Options are what a run wants of its machine.
type Options struct {
	// Measure is Measure; nil: nothing is measured or changed.
	Measure func(context.Context, clusters.Cluster) (runfolder.Fit, error)
	Rate    float64 // that of --load-rate; 0: as the machine carries it
}

// Shower shows a step, and what changes.
type Shower interface {
	Say(doing string)
	Note(text string)
}

// Of measures what the machine of a cluster carries, and chooses. A cluster that outlives the run keeps its timings. Where nothing could be
// measured, scenarios run as they were written, and that is shown. The error is a *TooSlowError, or that the choice could not be made true.
func Of(ctx context.Context, c clusters.Cluster, o Options, stays bool, show Shower) (runfolder.Fit, error) {
	if o.Measure == nil {
		return runfolder.Fit{}, nil
	}
	show.Say("measuring what the machine carries beside the cluster")
	m, err := o.Measure(ctx, c)
	if err != nil {
		if ctx.Err() == nil {
			show.Note("scenarios run as they were written: " + err.Error())
		}
		return runfolder.Fit{Cluster: c.Name(), Rate: o.Rate}, ctx.Err()
	}
	chosen, err := Choose(m, o.Rate)
	if err != nil {
		return m, err
	}
	if stays {
		chosen.NodeMonitorGrace = 0
	}
	if grace := chosen.NodeMonitorGrace; grace > 0 && c.Spec().Profile != clusters.Stock {
		if err := Wait(ctx, c, grace); err != nil {
			return chosen, errors.Join(&TooSlowError{m}, err)
		}
	}
	if chosen.Rate != 1 || chosen.NodeMonitorGrace > 0 {
		show.Note(fmt.Sprintf("the machine gives the nodes %.2g of a processor beside the cluster: what that changes is a note of each scenario", m.Processors))
	}
	return chosen, nil
}
