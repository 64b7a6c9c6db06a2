package collect

import (
	"context"
	"time"
)

// A worker that spins does so for spinFor in every spinEvery: longer than holdfast may overlook, and shorter than a request may be late.
const (
	spinEvery = 3 * time.Second
	spinFor   = 700 * time.Millisecond
	spinners  = 64 // each gets 10 ms before the next one
)

// spin takes the processor time of the whole process, again and again.
func spin(ctx context.Context) {
	every := time.NewTicker(spinEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		until := (<-every.C).Add(spinFor)
		for range spinners {
			go func() {
				for time.Now().Before(until) {
				}
			}()
		}
	}
}
