package gateway

import (
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
