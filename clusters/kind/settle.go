package kind

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// settle waits until look returns nothing missing. what names the awaited condition. A look that was cut off by the limit does
// not replace what an earlier one found missing.
func settle(ctx context.Context, what string, limit time.Duration, look func(context.Context) []string) error {
	seen := false
	return poll.Until(ctx, what, limit, func(ctx context.Context) (done bool, saw string, err error) {
		missing := look(ctx)
		saw = strings.Join(missing, "; ")
		if ctx.Err() != nil && seen {
			saw = ""
		}
		seen = true
		return len(missing) == 0, saw, nil
	})
}
