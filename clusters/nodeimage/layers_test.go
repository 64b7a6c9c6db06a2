package nodeimage

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kind's files are read from the module that creates the clusters, so a new kind may bring new files.
func TestKindFiles(t *testing.T) {
	tr, err := kindFiles(kindModuleDir(t))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := tr.Pack()
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Join(listLayer(t, bytes.NewReader(packed)), "\n")
	for _, want := range []string{
		"755 usr/local/bin/entrypoint ", "755 kind/bin/mount-product-files.sh ", "755 kind/bin/undo-mount-hacks.sh ",
		"644 etc/containerd/config.toml ", "644 etc/systemd/system/kubelet.service ", "644 etc/systemd/system/kubelet.service.d/11-kind.conf ",
	} {
		if !strings.Contains(files, want) {
			t.Errorf("no %s", want)
		}
	}
	for name := range tr {
		if strings.Contains(name, "clean-install") || strings.Contains(name, "fuse-overlayfs") {
			t.Errorf("%s has nothing to do in an image", name)
		}
	}
	text, err := tr.Read("etc/containerd/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := containerdConfig(text, "registry.example/pause:3.10.2")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n  sandbox_image = \"registry.example/pause:3.10.2\"\n", "\n  restrict_oom_score_adj = true"} {
		if !strings.Contains(changed, want) {
			t.Errorf("no %q in\n%s", want, changed)
		}
	}
	if _, err := tr.Read("etc/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestContainerBase(t *testing.T) {
	got, err := containerBase([]byte(`{"process":{"cwd":"/","rlimits":[{"type":"RLIMIT_NOFILE"}]},"root":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "hooks": {
    "createContainer": [
      {
        "path": "/kind/bin/mount-product-files.sh"
      }
    ]
  },
  "process": {
    "cwd": "/"
  },
  "root": {}
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "{}"} {
		if _, err := containerBase([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
