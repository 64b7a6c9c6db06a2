package nodeimage

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listTar returns one line per entry: mode, kind, name, size or target.
func listTar(t *testing.T, r io.Reader) []string {
	t.Helper()
	var lines []string
	in := tar.NewReader(r)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		switch header.Typeflag {
		case tar.TypeDir:
			lines = append(lines, fmt.Sprintf("%o %s", header.Mode, header.Name))
		case tar.TypeSymlink:
			lines = append(lines, fmt.Sprintf("link %s %s", header.Name, header.Linkname))
		default:
			text, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%o %s %q", header.Mode, header.Name, text))
		}
	}
}

func TestTreeWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runc")
	if err := os.WriteFile(file, []byte("binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := tree{}
	tr.program("usr/local/sbin/runc", file)
	tr.add("etc/a", "text")
	tr.link("usr/sbin/init", "/usr/lib/systemd/systemd")
	tr.folder("etc/kubernetes/manifests")
	packed, err := tr.pack()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"755 etc/", `644 etc/a "text"`, "755 etc/kubernetes/", "755 etc/kubernetes/manifests/",
		"755 usr/", "755 usr/local/", "755 usr/local/sbin/", `755 usr/local/sbin/runc "binary"`,
		"755 usr/sbin/", "link usr/sbin/init /usr/lib/systemd/systemd",
	}
	if diff := cmp.Diff(want, listTar(t, bytes.NewReader(packed))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := tr.pack()
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("packed twice it differs: %v", err)
	}
}

func TestTreeWriteFails(t *testing.T) {
	tr := tree{}
	tr.program("a", "/nonexistent")
	if _, err := tr.pack(); err == nil || !strings.HasPrefix(err.Error(), "pack a: open /nonexistent") {
		t.Errorf("got %v", err)
	}
}

// kind's files are read from the module that creates the clusters, so a new kind may bring new files.
func TestKindFiles(t *testing.T) {
	tr, err := kindFiles(kindModuleDir(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{
		"usr/local/bin/entrypoint": 0o755, "kind/bin/mount-product-files.sh": 0o755, "kind/bin/undo-mount-hacks.sh": 0o755,
		"etc/containerd/config.toml": 0o644, "etc/systemd/system/kubelet.service": 0o644,
		"etc/systemd/system/kubelet.service.d/11-kind.conf": 0o644,
	} {
		if got, ok := tr[name]; !ok || got.mode != mode {
			t.Errorf("%s: %v, mode %o; want mode %o", name, ok, got.mode, mode)
		}
	}
	for name := range tr {
		if strings.Contains(name, "clean-install") || strings.Contains(name, "fuse-overlayfs") {
			t.Errorf("%s has nothing to do in an image", name)
		}
	}
	text, err := tr.read("etc/containerd/config.toml")
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
	if _, err := tr.read("etc/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestContainerdConfigOfAnotherShape(t *testing.T) {
	if _, err := containerdConfig("version = 4\n", "x"); err == nil {
		t.Error("a configuration without the two lines was taken")
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

func TestAddOurs(t *testing.T) {
	tr := tree{}
	if err := tr.addOurs(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"etc/systemd/system/holdfast-net.service", "etc/systemd/journald.conf.d/holdfast.conf",
		"kind/manifests/default-cni.yaml", "kind/manifests/default-storage.yaml",
	} {
		if _, ok := tr[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
}
