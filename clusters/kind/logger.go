package kind

import (
	"fmt"
	"log/slog"
	"strings"

	kindlog "sigs.k8s.io/kind/pkg/log"
)

// logger passes kind's messages to slog. Progress becomes Info. Everything else, including warnings, becomes Debug: kind warns
// about podman, a custom network and cgroup v1, which are intended here, and it returns its errors.
type logger struct{ to *slog.Logger }

var _ kindlog.Logger = logger{}

func (l logger) Warn(message string)                      { l.to.Debug(trim(message), "from", "kind") }
func (l logger) Warnf(format string, a ...any)            { l.Warn(fmt.Sprintf(format, a...)) }
func (l logger) Error(message string)                     { l.to.Debug(trim(message), "from", "kind") }
func (l logger) Errorf(format string, a ...any)           { l.Error(fmt.Sprintf(format, a...)) }
func (l logger) V(level kindlog.Level) kindlog.InfoLogger { return info{to: l.to, level: level} }

// info is one verbosity level. Only the start of each phase is logged, because its end is the start of the next. Deeper levels
// contain the complete output of kubeadm, which errors include too.
type info struct {
	to    *slog.Logger
	level kindlog.Level
}

func (i info) Enabled() bool { return i.level == 0 }

func (i info) Infof(format string, a ...any) { i.Info(fmt.Sprintf(format, a...)) }

func (i info) Info(message string) {
	if i.Enabled() && strings.Contains(message, "•") {
		i.to.Info(trim(message))
	}
}

// trim removes bullets and emoji from a message of kind.
func trim(message string) string {
	text := strings.Map(func(r rune) rune {
		if r > 0x2000 {
			return -1
		}
		return r
	}, message)
	return strings.Trim(text, " \n.")
}
