package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// A server in a pod shuts down gracefully on SIGTERM. If it cannot start, its error names what is missing.
func TestWorkloads(t *testing.T) {
	t.Setenv(backend.EnvPod, "") // as if the pod did not know its name
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"backend", []string{"--listen=127.0.0.1:0"}, exit.Held, ""},
		{"gateway", []string{"--listen=127.0.0.1:0", "--upstreams=127.0.0.1:1"}, exit.Held, ""},
		{"backend", []string{"--listen=127.0.0.1:none"}, exit.Failed, "listen tcp"},
		{"backend", []string{"--at-term=explode"}, exit.BadUsage, "backend: "},
		{"gateway", []string{"--per-try=soon"}, exit.BadUsage, "gateway: "},
		{"load", nil, exit.Failed, "load worker: no name"},
		{"", nil, exit.BadUsage, "want backend, gateway, healer, load or mirror"},
	} {
		err := workload(ended, test.name, test.args)
		if code := exit.Code(err); code != test.code {
			t.Errorf("%s %v: exit code %d, %v; want %d", test.name, test.args, code, err, test.code)
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %v: %v; want %q", test.name, test.args, err, test.want)
		}
	}
}
