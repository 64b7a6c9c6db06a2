package kind

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// lookEvery is how often a condition is looked at: short beside the seconds that a node takes, long beside the
// milliseconds that a look costs.
const lookEvery = 200 * time.Millisecond

// settle looks until nothing is missing. The look returns what is, in words. When the limit is over, or ctx ends, the
// error gives what was missing last; a look that was cut off says nothing of that.
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
