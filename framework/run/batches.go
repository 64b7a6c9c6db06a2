package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onsi/ginkgo/v2"

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
	for _, p := range batches {
		if len(p.Chosen) == 0 {
			return 0, fmt.Errorf("start %s: no scenarios were chosen", p.Name)
		}
		if err := p.Settings.validate(); err != nil {
			return 0, err
		}
	}
	if err := begin(batches[0].Settings); err != nil {
		return 0, err
	}
	theRun.whole = ctx
	s := &sequence{batches: batches, at: -1, after: after}
	s.register()
	runSpecs(time.Duration(len(batches)) * runLimit)
	theRun.end(ctx)
	s.close() // an interrupted batch is still open
	return s.whole, errors.Join(s.errs...)
}

// sequence is the state of Batches.
type sequence struct {
	batches []Batch
	after   func(int, runfolder.File) bool
	at      int // the open batch, counted from 0; -1: none yet
	done    int // finished scenarios of the open batch
	whole   int // batches that were run to their end
	over    bool
	errs    []error
}

// register declares the scenarios of all batches to Ginkgo.
func (s *sequence) register() {
	ginkgo.Describe("batches", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
		for n, p := range s.batches {
			for _, spec := range p.Chosen {
				ginkgo.It(p.Name+": "+spec.Name, func(ctx ginkgo.SpecContext) {
					if s.over {
						ginkgo.Skip("an earlier batch ended the run")
					}
					if n != s.at {
						s.open(n)
					}
					defer s.count()
					theRun.judged(ctx, spec)
				})
			}
		}
	})
}

// open makes theRun that of a batch.
func (s *sequence) open(n int) {
	s.at, s.done = n, 0
	settings := s.batches[n].Settings
	if n > 0 { // the first batch starts with the whole run
		settings.Started = time.Now()
	}
	if err := theRun.next(settings); err != nil {
		s.errs = append(s.errs, err)
		ginkgo.Fail(err.Error())
	}
}

// count counts a finished scenario. The last one ends the batch.
func (s *sequence) count() {
	if s.done++; s.done == len(s.batches[s.at].Chosen) {
		s.close()
		s.whole++
	}
}

// close ends the open batch, if there is one, and lists the scenarios that were not begun.
func (s *sequence) close() {
	if s.at < 0 || !theRun.file.Ended.IsZero() {
		return
	}
	if err := theRun.finish(s.batches[s.at].Chosen); err != nil {
		s.errs = append(s.errs, err)
	}
	s.over = !s.after(s.at, theRun.file)
}
