package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onsi/ginkgo/v2"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Batch is a run with its own folder, settings and scenarios, one of several that share their clusters.
type Batch struct {
	Name     string
	Settings Settings
	Chosen   []scenario.Spec // in this order
}

// Batches runs parts one after the other, so that whatever ends them early leaves the earlier ones whole. Clusters are opened and
// closed as the first one's settings say. After hears of each part what is then in its run.json, the last one too, which may be
// cut short; where it returns false, the parts that follow are not begun. Batches returns how many came to their end; an error
// means that one could not be kept.
func Batches(ctx context.Context, batches []Batch, after func(part int, f history.RunFile) (goOn bool)) (whole int, err error) {
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
	s.close() // what was interrupted
	return s.whole, errors.Join(s.errs...)
}

// sequence is Batches at work.
type sequence struct {
	batches []Batch
	after   func(int, history.RunFile) bool
	at      int // the part that is open, counted from 0; -1: none was
	done    int // scenarios of it
	whole   int // parts that came to their end
	over    bool
	errs    []error
}

// register tells Ginkgo of all parts.
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

// open makes the run at hand that of a part.
func (s *sequence) open(n int) {
	s.at, s.done = n, 0
	settings := s.batches[n].Settings
	if n > 0 { // the first one's moment is that of the whole
		settings.Started = time.Now()
	}
	if err := theRun.next(settings); err != nil {
		s.errs = append(s.errs, err)
		ginkgo.Fail(err.Error())
	}
}

// count a scenario that is over, and with the last of them the part.
func (s *sequence) count() {
	if s.done++; s.done == len(s.batches[s.at].Chosen) {
		s.close()
		s.whole++
	}
}

// close ends the part that is open, if there is one, with what was not begun of it.
func (s *sequence) close() {
	if s.at < 0 || !theRun.file.Ended.IsZero() {
		return
	}
	if err := theRun.finish(s.batches[s.at].Chosen); err != nil {
		s.errs = append(s.errs, err)
	}
	s.over = !s.after(s.at, theRun.file)
}
