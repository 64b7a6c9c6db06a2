package kind

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// lookEvery is the interval between checks: short compared to the seconds that a node takes, long compared to the milliseconds
// that a check costs.
const lookEvery = 200 * time.Millisecond

// settle calls look until look returns nothing missing. When the limit passes or ctx ends, the error lists what was missing
// last. A look that was cut off by the limit does not replace an earlier result.
func settle(ctx context.Context, limit time.Duration, look func(context.Context) []string) error {
	begin := time.Now()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var last []string
	for bounded.Err() == nil {
		missing := look(bounded)
		if len(missing) == 0 {
			return nil
		}
		if bounded.Err() == nil || last == nil {
			last = missing
		}
		select {
		case <-ticker.C:
		case <-bounded.Done():
		}
	}
	return fmt.Errorf("waited %s: %s: %w", time.Since(begin).Round(100*time.Millisecond), strings.Join(last, "; "), context.Cause(bounded))
}
