package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindConmon(t *testing.T) {
	tests := map[string]struct {
		fake fake
		want string
	}{
		"in PATH":            {fake{programs: []string{"conmon"}}, "/usr/bin/conmon"},
		"where podman looks": {fake{files: map[string]string{"/usr/libexec/podman/conmon": ""}}, "/usr/libexec/podman/conmon"},
		"nowhere":            {fake{}, ""},
	}
	for name, test := range tests {
		if got := findConmon(test.fake.host()); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// The script must delay only the cleanup after an exec, and pass all arguments unchanged.
func TestConmonScript(t *testing.T) {
	dir := t.TempDir()
	conmon, script := filepath.Join(dir, "conmon"), filepath.Join(dir, "script")
	for path, text := range map[string]string{
		conmon: "#!/bin/sh\nprintf '[%s]' \"$@\"\n", script: conmonScript(conmon),
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"--api-version|1|-e|--exec-attach|--name|a b": "[--exit-delay][2][--api-version][1][-e][--exec-attach][--name][a b]",
		"--api-version|1|--name|a b":                  "[--api-version][1][--name][a b]",
		"--version":                                   "[--version]",
	} {
		got, err := exec.CommandContext(t.Context(), script, strings.Split(args, "|")...).Output()
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", args, got, err, want)
		}
	}
}

func TestWrapConmon(t *testing.T) {
	dir := t.TempDir()
	f := fake{programs: []string{"conmon"}}
	h := f.host()
	h.readFile = os.ReadFile
	path, err := wrapConmon(h, dir)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(path)
	if err != nil || first.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v; want an executable script", first, err)
	}
	if _, err := wrapConmon(h, dir); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(path); err != nil || !os.SameFile(first, again) {
		t.Errorf("an unchanged script was rewritten (%v), although another run may be executing it", err)
	}
	none := fake{}
	if path, err := wrapConmon(none.host(), dir); path != "" || err != nil {
		t.Errorf("without conmon: %q, %v", path, err)
	}
}
