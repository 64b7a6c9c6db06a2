package kind

import (
	"fmt"
	"log/slog"
	"strings"

	kindlog "sigs.k8s.io/kind/pkg/log"
)

// logger passes kind's messages to slog. Its progress is told as such; the rest, warnings as well, are details: kind
// warns of podman, of a network of our own and of cgroup v1, which are all chosen, and it returns its errors.
type logger struct{ to *slog.Logger }

var _ kindlog.Logger = logger{}

func (l logger) Warn(message string)                      { l.to.Debug(trim(message), "from", "kind") }
func (l logger) Warnf(format string, a ...any)            { l.Warn(fmt.Sprintf(format, a...)) }
func (l logger) Error(message string)                     { l.to.Debug(trim(message), "from", "kind") }
func (l logger) Errorf(format string, a ...any)           { l.Error(fmt.Sprintf(format, a...)) }
func (l logger) V(level kindlog.Level) kindlog.InfoLogger { return info{to: l.to, level: level} }

// info is one level of verbosity. Only the beginning of each phase is told: its end is the next one's beginning, and
// deeper levels carry the whole output of kubeadm, which the error has as well.
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

// trim takes bullets and pictures from a message of kind's.
func trim(message string) string {
	text := strings.Map(func(r rune) rune {
		if r > 0x2000 {
			return -1
		}
		return r
	}, message)
	return strings.Trim(text, " \n.")
}
