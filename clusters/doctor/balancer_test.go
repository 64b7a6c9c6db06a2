package doctor

import (
	"errors"
	"strings"
	"testing"
)

// If holdfast's own image has the name of kind's, the check reports it and how to remove it.
func TestBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		says   string
		err    error
		found  string
		remedy bool
	}{
		"ours":               {says: "sha256:1 haproxy\n", found: "haproxy replaces kind's Envoy under the same image name (docker.io/envoyproxy/envoy:", remedy: true},
		"kind's own":         {says: "sha256:1 \n", found: "kind's own (docker.io/envoyproxy/envoy:"},
		"kind's, by docker":  {says: "sha256:1 <no value>\n", found: "kind's own (docker.io/envoyproxy/envoy:"},
		"none":               {err: errors.New("no such image"), found: "not present"},
		"nothing to inspect": {says: "\n", found: "not present"},
	} {
		e := &fakeEngine{name: "podman", lists: map[string]string{"image inspect": c.says}, err: c.err}
		got := balancer(t.Context(), e)
		if got.Status != OK || !strings.HasPrefix(got.Found, c.found) || (got.Remedy != "") != c.remedy {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := balancer(t.Context(), nil); got.Status != OK || !strings.HasPrefix(got.Found, "not present") {
		t.Errorf("without an engine: %+v", got)
	}
}
