package instrument

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/holdfast-ha/holdfast/reports"
)

// Options say how long it may take. Zero leaves a part out.
type Options struct {
	Dir    string // that the records go to, below it; made if need be
	Seed   uint64
	Trials int           // outages of each length: about 0.37 s for one of each
	Losses time.Duration // of load in which single requests are lost: at 100 a second on each lane, 50 s have one of 10,000
	Soak   int           // requests
	// Say tells how far it is, a line at a time.
	Say func(string)
}

// Measure measures the instrument. An error says that it could not be; what was measured before it is returned.
func Measure(ctx context.Context, o Options) (*reports.Instrument, error) {
	began := time.Now()
	i := &reports.Instrument{Processors: runtime.GOMAXPROCS(0)}
	defer func() { i.TookSeconds = time.Since(began).Seconds() }()
	random := rand.New(rand.NewPCG(o.Seed, 0))
	dir := filepath.Join(o.Dir, "instrument")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return i, fmt.Errorf("measure the instrument: %w", err)
	}
	var errs [3]error
	if o.Trials > 0 {
		i.Outages, errs[0] = Outages(ctx, dir, o.Trials, random, o.progress("planted outages", "of each length"))
	}
	if o.Losses > 0 && ctx.Err() == nil {
		i.Losses, errs[1] = Losses(ctx, dir, o.Losses, random, o.progress("single lost requests", "s"))
	}
	if o.Soak > 0 && ctx.Err() == nil {
		i.Soak, errs[2] = Soak(ctx, dir, o.Soak, o.progress("soak", "requests"))
	}
	if err := errors.Join(errs[:]...); err != nil {
		return i, fmt.Errorf("measure the instrument: %w", err)
	}
	return i, ctx.Err()
}

// sayEvery is how often a line is said.
const sayEvery = 10 * time.Second

// progress says how far a part is, and how long it will still take if it goes on so.
func (o Options) progress(part, unit string) func(of, all int) {
	began, last := time.Now(), time.Now()
	return func(of, all int) {
		if o.Say == nil || of < 1 || of < all && time.Since(last) < sayEvery {
			return
		}
		last = time.Now()
		line := fmt.Sprintf("instrument, %s: %d of %d %s", part, of, all, unit)
		if of < all {
			left := time.Since(began) / time.Duration(of) * time.Duration(all-of)
			line += fmt.Sprintf(", about %s left", left.Round(time.Second))
		}
		o.Say(line)
	}
}
