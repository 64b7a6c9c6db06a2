package doctor

import (
	"errors"
	"strings"
	"testing"
)

// An image of ours that has the name of kind's is told of, with the way to be rid of it.
func TestBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		says   string
		err    error
		found  string
		remedy bool
	}{
		"ours":               {says: "sha256:1 haproxy\n", found: "haproxy stands in for kind's Envoy, under its name (docker.io/envoyproxy/envoy:", remedy: true},
		"kind's own":         {says: "sha256:1 \n", found: "kind's own (docker.io/envoyproxy/envoy:"},
		"kind's, by docker":  {says: "sha256:1 <no value>\n", found: "kind's own (docker.io/envoyproxy/envoy:"},
		"none":               {err: errors.New("no such image"), found: "none is here"},
		"nothing to inspect": {says: "\n", found: "none is here"},
	} {
		e := &fakeEngine{name: "podman", lists: map[string]string{"image inspect": c.says}, err: c.err}
		got := balancer(t.Context(), e)
		if got.Status != OK || !strings.HasPrefix(got.Found, c.found) || (got.Remedy != "") != c.remedy {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := balancer(t.Context(), nil); got.Status != OK || !strings.HasPrefix(got.Found, "none is here") {
		t.Errorf("without an engine: %+v", got)
	}
}
