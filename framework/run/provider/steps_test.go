package provider

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// The provider's messages at level Info go to the user, and its other messages to the log.
func TestSteps(t *testing.T) {
	var said []string
	var logged strings.Builder
	say := func(doing string) { said = append(said, doing) }
	plain := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	for _, least := range []slog.Level{slog.LevelWarn, slog.LevelDebug} {
		handler := slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: least, ReplaceAttr: plain})
		log := slog.New(steps{handler, say}).With("cluster", "demo").WithGroup("node")
		log.Debug("asked", "n", 1)
		log.Info("Starting control-plane")
		log.Warn("slow", "n", 2)
	}
	if want := []string{"Starting control-plane", "Starting control-plane"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	const want = `level=WARN msg=slow cluster=demo node.n=2
level=DEBUG msg=asked cluster=demo node.n=1
level=WARN msg=slow cluster=demo node.n=2
`
	if logged.String() != want {
		t.Errorf("logged\n%swant\n%s", logged.String(), want)
	}
}
