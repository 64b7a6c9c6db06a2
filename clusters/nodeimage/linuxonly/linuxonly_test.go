package linuxonly_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage/linuxonly"
)

// engine is a container engine on a machine of an architecture; empty: it does not tell.
type engine string

func (engine) Name() string { return "docker" }

func (e engine) Output(context.Context, ...string) ([]byte, error) { return []byte(e), nil }

func TestCheck(t *testing.T) {
	if err := linuxonly.Check(t.Context(), "linux", engine("x86_64"), linuxonly.Balancer, nil); err != nil {
		t.Errorf("Linux: %v", err)
	}
	unsent := errors.New("pull x: denied")
	for name, test := range map[string]struct {
		engine engine
		saved  string
		pull   error
		want   string
	}{
		"a node": {
			"aarch64", linuxonly.Node("v1.37.1"), errors.Join(unsent, errors.New("pull y: denied")),
			"the image is built only on Linux, and this is darwin, and no registry sent it: pull x: denied; pull y: denied: " +
				"let the container engine reach a registry that has it, or run 'holdfast image load FILE' with a file that " +
				"'holdfast image save FILE --kubernetes v1.37.1' wrote on a Linux machine of the same architecture (linux/arm64)",
		},
		"no registry was asked, and the engine does not tell": {
			"", linuxonly.Balancer, nil,
			"the image is built only on Linux, and this is darwin: let the container engine reach a registry that has it, or run " +
				"'holdfast image load FILE' with a file that 'holdfast image save FILE --balancer' wrote on a Linux machine of the same architecture " +
				"(linux/" + runtime.GOARCH + ")",
		},
	} {
		err := linuxonly.Check(t.Context(), "darwin", test.engine, test.saved, test.pull)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got  %v\nwant %s", name, err, test.want)
		}
		if errors.Is(err, unsent) != (test.pull != nil) {
			t.Errorf("%s: %v hides why no registry sent the image", name, err)
		}
	}
}
