package engine

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDockerAsk(t *testing.T) {
	tests := map[string]struct {
		answer answer
		want   facts
		err    string
	}{
		"up": {
			answer: answer{text: `{"ID":"A","ServerVersion":"20.10.24","DefaultRuntime":"thin","Driver":"overlay2",` +
				`"DockerRootDir":"/data","Runtimes":{"thin":{"path":"/opt/thin"},"runc":{"path":"runc"}}}`},
			want: facts{Version: "20.10.24", Runtime: "thin", Driver: "overlay2", StorageDir: "/data", Identity: "A /opt/thin"},
		},
		"down": {
			answer: answer{text: dockerDown, err: errors.New("exit status 1")},
			err:    "its daemon does not answer: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.",
		},
		"down, older client": { // its exit status is 0
			answer: answer{text: dockerDown},
			err:    "its daemon does not answer: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.",
		},
		"silent": {
			answer: answer{err: errors.New("no answer within 15s")},
			err:    "its daemon does not answer: no answer within 15s",
		},
		"not docker": {
			answer: answer{text: "hello"},
			err:    "read `docker info`: invalid character 'h' looking for beginning of value",
		},
		"podman under docker's name": {
			answer: answer{text: podmanUp},
			err:    "its daemon does not answer: `docker info` reports no server version",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := fake{answers: map[string]answer{"docker info": test.answer}}
			got, err := dockerEngine{}.ask(t.Context(), f.host(), "docker", nil)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != test.err {
				t.Errorf("error %q, want %q", text, test.err)
			}
		})
	}
}
