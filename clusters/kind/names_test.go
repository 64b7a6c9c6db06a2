package kind

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"a":                     "",
		"nightly-1234":          "",
		strings.Repeat("a", 31): "",
		strings.Repeat("a", 32): "32 characters",
		"":                      "want lower-case",
		"-a":                    "want lower-case",
		"a-":                    "want lower-case",
		"Nightly":               "want lower-case",
		"a_b":                   "want lower-case",
		"a b":                   "want lower-case",
	} {
		err := checkName(name)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
}

func TestClusterOf(t *testing.T) {
	for container, want := range map[string]string{
		"holdfast-x-control-plane":           "x",
		"holdfast-x-worker12":                "x",
		"holdfast-x-external-load-balancer":  "x",
		"holdfast-my-worker-worker2":         "my-worker",
		"kind-control-plane":                 "",
		"notholdfast-x-worker":               "",
		"not-holdfast-x-worker":              "",
		"holdfast-node-image-build-31415":    "",
		"holdfast-x-control-plane-something": "",
	} {
		if got := clusterOf(container); got != want {
			t.Errorf("clusterOf(%q) = %q, want %q", container, got, want)
		}
	}
}

func TestClusterOfVolume(t *testing.T) {
	for labels, want := range map[string]string{
		"map[holdfast-x-worker:true]":             "x", // podman
		"map[a:b holdfast-x-control-plane2:true]": "x",
		"holdfast-x-worker=true,foo=bar":          "x", // docker
		"foo=bar,holdfast-x-worker=true":          "x",
		"map[kind-worker:true]":                   "",
		"map[not-holdfast-x-worker:true]":         "",
		"map[]":                                   "",
		"":                                        "",
	} {
		if got := clusterOfVolume(labels); got != want {
			t.Errorf("clusterOfVolume(%q) = %q, want %q", labels, got, want)
		}
	}
}
