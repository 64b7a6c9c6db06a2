package engine

import (
	"errors"
	"os"
	"os/exec"
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
