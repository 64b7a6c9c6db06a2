package kind

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		err := settle(t.Context(), time.Minute, func(context.Context) []string {
			if looks++; looks < 4 {
				return []string{"something"}
			}
			return nil
		})
		if err != nil || looks != 4 {
			t.Errorf("after %d looks: %v", looks, err)
		}
	})
}

func TestSettleSaysWhatWasMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		err := settle(t.Context(), 10*time.Second, func(context.Context) []string {
			if looks++; looks < 10 {
				return []string{"node a: not registered", "node b: not registered"}
			}
			return []string{"node b: not registered", "node c: Ready=False"}
		})
		const want = "waited 10s: node b: not registered; node c: Ready=False: context deadline exceeded"
		if err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	})
}

func TestSettleIgnoresALookThatWasCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := settle(t.Context(), 5*time.Second, func(ctx context.Context) []string {
			select {
			case <-ctx.Done():
				return []string{ctx.Err().Error()}
			case <-time.After(2 * time.Second):
				return []string{"the reason"}
			}
		})
		if err == nil || err.Error() != "waited 5s: the reason: context deadline exceeded" {
			t.Errorf("got %v", err)
		}
	})
}

func TestSettleEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupted := errors.New("interrupted")
		time.AfterFunc(time.Second, func() { cancel(interrupted) })
		err := settle(ctx, time.Hour, func(context.Context) []string { return []string{"something"} })
		if !errors.Is(err, interrupted) || err.Error() != "waited 1s: something: interrupted" {
			t.Errorf("got %v", err)
		}
	})
}
