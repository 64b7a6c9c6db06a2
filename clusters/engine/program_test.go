package engine

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// runProgram runs the program on this machine with the given process attributes, and returns its exit status.
func runProgram(t *testing.T, attributes *syscall.SysProcAttr) int {
	t.Helper()
	program, err := programFor(runtime.GOARCH)
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "probe")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(path); len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // so that user nobody can execute the program
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path)
	cmd.SysProcAttr = attributes
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		t.Skipf("this machine does not let the probe start: %v", err)
	}
	return 0
}

func TestProgramMountsWherePrivileged(t *testing.T) {
	self := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	status := runProgram(t, &syscall.SysProcAttr{ // root in its own user and mount namespaces, so this machine's /proc is not affected
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: self(os.Getuid()), GidMappings: self(os.Getgid()),
	})
	if status != 0 {
		t.Errorf("exit status %d (%v), want 0", status, syscall.Errno(status))
	}
}

func TestProgramTellsWhyNot(t *testing.T) {
	attributes := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		attributes.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	if status := runProgram(t, attributes); syscall.Errno(status) != syscall.EPERM {
		t.Errorf("exit status %d (%v), want %v", status, syscall.Errno(status), syscall.EPERM)
	}
}

// The code is fixed in the test, because no single machine can run both programs. It was compared with the output of Go's
// assembler.
func TestProgramCode(t *testing.T) {
	tests := map[string]struct {
		machine elf.Machine
		code    string
	}{
		"amd64": {elf.EM_X86_64, "b8a5000000bf9f004000be9f004000baa50040004531d24531c00f0589c7f7dfb83c0000000f05"},
		"arm64": {elf.EM_AARCH64, "801780d20008a0f2811780d20108a0f2421880d20208a0f2030080d20300a0f2040080d20400a0f2" +
			"080580d20800a0f2010000d4e00300cba80b80d20800a0f2010000d4"},
	}
	for arch, test := range tests {
		t.Run(arch, func(t *testing.T) {
			program, err := programFor(arch)
			if err != nil {
				t.Fatal(err)
			}
			file, err := elf.NewFile(bytes.NewReader(program))
			if err != nil {
				t.Fatal(err)
			}
			if file.Machine != test.machine || file.Type != elf.ET_EXEC || len(file.Progs) != 1 {
				t.Errorf("%v %v with %d segments, want %v ET_EXEC with 1", file.Machine, file.Type, len(file.Progs), test.machine)
			}
			body := program[file.Entry-file.Progs[0].Vaddr:]
			code := body[:len(body)-len(mountTarget)-len(mountType)]
			if got := hex.EncodeToString(code); got != test.code {
				t.Errorf("code\n%s, want\n%s", got, test.code)
			}
			if got := string(body[len(code):]); got != "/proc\x00tmpfs\x00" {
				t.Errorf("strings %q", got)
			}
		})
	}
	if _, err := programFor("mips"); err == nil {
		t.Error("a program for mips, want an error")
	}
}

func TestRootFS(t *testing.T) {
	archive, err := rootFS("name", []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	reader := tar.NewReader(bytes.NewReader(archive))
	header, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil || header.Name != "name" || header.Mode != 0o755 || string(content) != "program" {
		t.Errorf("%s mode %o: %q, %v; want the program, executable", header.Name, header.Mode, content, err)
	}
	if _, err := reader.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want no other file", err)
	}
}
