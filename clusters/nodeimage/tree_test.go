package nodeimage

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTreeWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runc")
	if err := os.WriteFile(file, []byte("binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := Tree{}
	tr.Program("usr/local/sbin/runc", file)
	tr.Add("etc/a", "text")
	tr.Link("usr/sbin/init", "/usr/lib/systemd/systemd")
	tr.Folder("etc/kubernetes/manifests")
	packed, err := tr.Pack()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"755 etc/", `644 etc/a "text"`, "755 etc/kubernetes/", "755 etc/kubernetes/manifests/",
		"755 usr/", "755 usr/local/", "755 usr/local/sbin/", `755 usr/local/sbin/runc "binary"`,
		"755 usr/sbin/", "link usr/sbin/init /usr/lib/systemd/systemd",
	}
	if diff := cmp.Diff(want, listLayer(t, bytes.NewReader(packed))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := tr.Pack()
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("packed twice it differs: %v", err)
	}
}

func TestTreeWriteFails(t *testing.T) {
	tr := Tree{}
	tr.Program("a", "/nonexistent")
	if _, err := tr.Pack(); err == nil || !strings.HasPrefix(err.Error(), "pack a: open /nonexistent") {
		t.Errorf("got %v", err)
	}
}
