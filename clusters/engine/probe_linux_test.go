package engine

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const probeVariable = "HOLDFAST_TEST_PROBE"

func TestMain(m *testing.M) {
	if os.Getenv(probeVariable) == "" {
		os.Exit(m.Run())
	}
	if err := Probe(); err != nil {
		_, _ = os.Stderr.WriteString("holdfast: " + err.Error())
		os.Exit(ProbeRefused)
	}
}

// Namespaces take the place of a container. The new /proc is in a mount namespace that ends with the process.
func TestProbe(t *testing.T) {
	self := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	const root, first = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, syscall.CLONE_NEWPID
	for name, test := range map[string]struct {
		namespaces uintptr
		want       string
	}{
		"privileged":             {root | first, ""},
		"may not mount":          {syscall.CLONE_NEWUSER | first, "a privileged container runs, but may not mount: operation not permitted"},
		"outside of a container": {0, "a privileged container runs, but is not alone: only the first process of a container may probe it"},
		"not the first process":  {root, "a privileged container runs, but is not alone: only the first process of a container may probe it"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), probeVariable+"=1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: test.namespaces}
			if test.namespaces&syscall.CLONE_NEWUSER != 0 {
				cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = self(os.Getuid()), self(os.Getgid())
			}
			_, err := output(t.Context(), cmd)
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Skipf("this machine does not let the probe start: %v", err)
			}
			got := ""
			if err := explain(err); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestRootFS(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	archive, err := rootFS("name", program)
	if err != nil {
		t.Fatal(err)
	}
	reader := tar.NewReader(archive)
	header, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil || header.Name != "name" || header.Mode != 0o755 || string(content) != "text" {
		t.Errorf("%s mode %o: %q, %v; want the program, executable", header.Name, header.Mode, content, err)
	}
	if _, err := reader.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want no other file", err)
	}
	if _, err := rootFS("name", program+"x"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without a program: %v", err)
	}
}
