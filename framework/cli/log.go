package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

// logHandler writes a command's log to standard error: in detail if verbose is true, otherwise only warnings, as sentences. The commands
// that run inside clusters, which users do not call, always write a log with times.
func logHandler(cmd *cobra.Command, verbose bool) slog.Handler {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	inside := false
	for c := cmd; c != nil; c = c.Parent() {
		inside = inside || c.Hidden
	}
	if verbose || inside {
		return slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level})
	}
	return warnings{out: cmd.ErrOrStderr()}
}

// warnings is a log handler that writes each warning as one line: "warning: collect logs: no room (scenario chaos/x)".
type warnings struct {
	out   io.Writer
	attrs []slog.Attr
}

// maxWarning is the length at which a warning is cut. The detailed log has all of it.
const maxWarning = 500

func (w warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	text, about := "warning: "+r.Message, ""
	add := func(a slog.Attr) bool {
		if a.Key == "error" {
			text += ": " + a.Value.String()
		} else {
			about += fmt.Sprintf(" (%s %s)", a.Key, a.Value)
		}
		return true
	}
	for _, a := range w.attrs {
		add(a)
	}
	r.Attrs(add)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxWarning {
		text = prose.Shorten(text, maxWarning) + " (see --verbose)"
	}
	_, err := fmt.Fprintln(w.out, text+about)
	return err
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.out, append(w.attrs[:len(w.attrs):len(w.attrs)], attrs...)}
}

// WithGroup implements slog.Handler. Nothing logs groups.
func (w warnings) WithGroup(string) slog.Handler { return w }
