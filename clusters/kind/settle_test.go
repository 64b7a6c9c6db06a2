package kind

import (
	"context"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// fails compares an error with a text. The number of checks until a limit is not always the same.
func fails(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || regexp.MustCompile(`\(\d+ checks`).ReplaceAllString(err.Error(), "(N checks") != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		err := settle(t.Context(), "four looks", time.Minute, func(context.Context) []string {
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
		err := settle(t.Context(), "the nodes", 10*time.Second, func(ctx context.Context) []string {
			if looks++; looks > 2 {
				<-ctx.Done()
				return []string{"cut off"}
			}
			return []string{"node b: not registered", "node c: Ready=False"}
		})
		fails(t, err, "waited 10s for the nodes: last seen node b: not registered; node c: Ready=False "+
			"(N checks, last error: none): context deadline exceeded")
	})
}
