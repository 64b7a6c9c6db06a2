package provider

import (
	"context"
	"log/slog"
)

// steps is a log handler that passes messages at level Info to the user as progress lines. Other levels go to the log.
type steps struct {
	slog.Handler
	say func(string)
}

func (s steps) Enabled(ctx context.Context, level slog.Level) bool {
	return level == slog.LevelInfo || s.Handler.Enabled(ctx, level)
}

func (s steps) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelInfo {
		s.say(r.Message)
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

func (s steps) WithAttrs(attrs []slog.Attr) slog.Handler {
	return steps{s.Handler.WithAttrs(attrs), s.say}
}

func (s steps) WithGroup(name string) slog.Handler { return steps{s.Handler.WithGroup(name), s.say} }
