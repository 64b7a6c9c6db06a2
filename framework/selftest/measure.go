package selftest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Options are how long each part of the measurement takes. Zero omits the part.
type Options struct {
	Dir    string // the records are written below it; created if necessary
	Seed   uint64
	Trials int           // outages of each length: one of each takes about 0.37 s
	Losses time.Duration // of load in which single requests are lost: at 100 a second on each lane, one of 10,000 takes 50 s
	Soak   int           // requests
	// Say reports progress, one line at a time.
	Say func(string)
}

// Measure measures the instrument. With an error it returns what was measured before.
func Measure(ctx context.Context, o Options) (*Instrument, error) {
	began := time.Now()
	i := &Instrument{Processors: runtime.GOMAXPROCS(0)}
	defer func() { i.TookSeconds = time.Since(began).Seconds() }()
	random := rand.New(rand.NewPCG(o.Seed, 0))
	dir := filepath.Join(o.Dir, "instrument")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return i, fmt.Errorf("measure the instrument: %w", err)
	}
	var errs [3]error
	if o.Trials > 0 {
		i.Outages, errs[0] = measureOutages(ctx, dir, o.Trials, random, o.progress("planted outages", "of each length"))
	}
	if o.Losses > 0 && ctx.Err() == nil {
		i.Losses, errs[1] = measureLosses(ctx, dir, o.Losses, random, o.progress("single lost requests", "s"))
	}
	if o.Soak > 0 && ctx.Err() == nil {
		i.Soak, errs[2] = measureSoak(ctx, dir, o.Soak, o.progress("soak", "requests"))
	}
	if err := errors.Join(errs[:]...); err != nil {
		return i, fmt.Errorf("measure the instrument: %w", err)
	}
	return i, ctx.Err()
}

// progressEvery is the least time between two progress lines of a part.
const progressEvery = 10 * time.Second

// progress reports how far a part is, and how long the rest will take at the same speed.
func (o Options) progress(part, unit string) func(n, of int) {
	began, last := time.Now(), time.Now()
	return func(n, of int) {
		if o.Say == nil || n < 1 || n < of && time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		line := fmt.Sprintf("instrument, %s: %d of %d %s", part, n, of, unit)
		if n < of {
			left := time.Since(began) / time.Duration(n) * time.Duration(of-n)
			line += fmt.Sprintf(", about %s left", left.Round(time.Second))
		}
		o.Say(line)
	}
}
