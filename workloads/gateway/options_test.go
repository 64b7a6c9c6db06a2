package gateway

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// sameFunc lets cmp compare options: no flag sets their only func field.
var sameFunc = cmp.Comparer(func(a, b func() bool) bool { return a == nil && b == nil })

func TestParse(t *testing.T) {
	defaults := Options{
		Listen: ":8080", Namespace: "ns", Service: "backend", PerTry: 750 * time.Millisecond, Connect: 250 * time.Millisecond,
		MaxTries: 8,
		Health: Health{
			Every: 500 * time.Millisecond, Timeout: 500 * time.Millisecond, UnhealthyAfter: 2, HealthyAfter: 2,
		},
		Ejection: Ejection{After: 3, For: 5 * time.Second},
	}
	full := Options{
		Listen: "127.0.0.1:1", Upstreams: []string{"10.0.0.1:30080", "[::1]:30080"}, PerTry: time.Second, Connect: 2 * time.Second,
		MaxTries: 1,
		Health:   Health{Off: true, Every: time.Second, Timeout: 2 * time.Second, UnhealthyAfter: 4, HealthyAfter: 5},
		Ejection: Ejection{Off: true, After: 6, For: time.Minute}, NoKeepAlive: true,
		Serve: serve.Options{AtTerm: serve.Drop, Quiet: time.Second, Limit: time.Minute},
	}
	tests := map[string]struct {
		args []string
		want Options
	}{
		"defaults":   {[]string{"--namespace=ns", "--service=backend"}, defaults},
		"everything": {full.Args(), full},
		"one flag":   {[]string{"--namespace=ns", "--service=backend", "--max-tries", "8"}, defaults},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(test.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, sameFunc); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if n := len(full.Args()); n != 17 { // all flags but namespace and service: Args forgets none of them
		t.Errorf("%d flags: %q", n, full.Args())
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct{ args, want string }{
		"nothing":        {"", "gateway: no upstreams configured: set upstreams, or namespace and service"},
		"half a service": {"--service=b", "set upstreams, or namespace and service"},
		"unknown flag":   {"--colour=red", "gateway: flag provided but not defined: -colour"},
		"argument":       {"--upstreams=a:1 now", `gateway: unexpected argument "now"`},
		"upstream":       {"--upstreams=a:1,b", `gateway: upstream "b": want host:port`},
		"health":         {"--upstreams=a:1 --unhealthy-after=-1", "must not be negative"},
		"ejection":       {"--upstreams=a:1 --eject-for=-1s", "must not be negative"},
		"tries":          {"--upstreams=a:1 --max-tries=-1", "gateway: -1 tries of 0s: must not be negative"},
		"end":            {"--upstreams=a:1 --at-term=explode", "want drain, shutdown, drop, hold, drop-untrapped or hold-untrapped"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(strings.Fields(test.args))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
