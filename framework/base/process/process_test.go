package process

import (
	"os/exec"
	"testing"
)

func TestSelfLives(t *testing.T) {
	if self := Self(); self.Life() != Lives || self.PID == 0 {
		t.Errorf("%+v: %s", self, self.Life())
	}
}

// A killed process counts as ended even before its parent waits for it: a zombie still accepts signals.
func TestAKilledProcessHasEnded(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := Self()
	child.PID = cmd.Process.Pid
	if child.Began, err = began(child.PID); err != nil {
		t.Skipf("this system does not tell when a process began: %v", err)
	}
	if child.Life() != Lives {
		t.Errorf("while it lives: %s", child.Life())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err == nil { // its output has ended: the process is dead but not waited for
		t.Fatal("cat printed something")
	}
	for child.Life() == Lives { // the kernel closes the files of a process just before it turns the process into a zombie
	}
	if child.Life() != Ended {
		t.Errorf("a zombie: %s, want ended", child.Life())
	}
	_ = cmd.Wait() // it was killed
	if child.Life() != Ended {
		t.Errorf("after it was waited for: %s, want ended", child.Life())
	}
}

// A reused PID belongs to another process. The state of a process on another machine is unknown.
func TestAnotherProcessOfTheSamePID(t *testing.T) {
	later, far := Self(), Self()
	if later.Began == "" {
		t.Skip("this system does not tell when a process began")
	}
	later.Began += "1"
	far.Machine = "another boot"
	for want, p := range map[Life]Process{Ended: later, Elsewhere: far} {
		if got := p.Life(); got != want {
			t.Errorf("%+v: %s, want %s", p, got, want)
		}
	}
	if got := (Process{}).Life(); got != Elsewhere {
		t.Errorf("no process: %s", got)
	}
}

// The host name of a Mac changes with its network, and the identity of its boot does not.
func TestIsOf(t *testing.T) {
	for name, test := range map[string]struct {
		system, host, machine string
		p                     Process
		want                  bool
	}{
		"Linux":                         {"linux", "a", "boot", Process{Host: "a", Machine: "boot"}, true},
		"Linux, another host name":      {"linux", "b", "boot", Process{Host: "a", Machine: "boot"}, false},
		"Linux, another boot":           {"linux", "a", "later", Process{Host: "a", Machine: "boot"}, false},
		"macOS":                         {"darwin", "a", "boot", Process{Host: "a", Machine: "boot"}, true},
		"macOS, another host name":      {"darwin", "b", "boot", Process{Host: "a", Machine: "boot"}, true},
		"macOS, another boot":           {"darwin", "a", "later", Process{Host: "a", Machine: "boot"}, false},
		"macOS without a boot":          {"darwin", "a", "", Process{Host: "a"}, true},
		"macOS without a boot, far off": {"darwin", "b", "", Process{Host: "a"}, false},
		"a system that does not tell":   {"openbsd", "b", "", Process{Host: "a"}, false},
	} {
		if got := test.p.isOf(test.system, test.host, test.machine); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
