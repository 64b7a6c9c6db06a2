package kind

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log := logger{to: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))}
	log.Warn("enabling experimental podman provider")
	log.Errorf("failed to %s", "x")
	log.V(0).Info("Creating cluster \"x\" ...\n")
	log.V(0).Infof(" • %s  ...\n", "Preparing nodes 📦 📦 ")
	log.V(0).Infof(" ✓ %s\n", "Preparing nodes 📦 📦 ")
	log.V(0).Infof(" • %s  ...\n", "Starting control-plane 🕹️")
	log.V(3).Info(" • all that kubeadm says")
	want := []string{`level=INFO msg="Preparing nodes"`, `level=INFO msg="Starting control-plane"`}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(out.String()), "\n")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
