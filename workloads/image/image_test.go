package image

import (
	"archive/tar"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// hello is a small static executable for Linux, built once.
var hello = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "holdfast-image-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	source, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "hello")
	if err := os.WriteFile(source, []byte("package main\nfunc main() { println(\"hello\") }\n"), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "build", "-o", out, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, text)
	}
	return os.ReadFile(out)
})

// program writes hello to a file, after the given change.
func program(t *testing.T, change func(program []byte) []byte) string {
	t.Helper()
	content, err := hello()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, change(slices.Clone(content)), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func asItIs(program []byte) []byte { return program }

// Offsets in a 64-bit ELF file. Source: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
const machineAt, programHeadersAt = 18, 32

func ofAnotherMachine(program []byte) []byte {
	binary.LittleEndian.PutUint16(program[machineAt:], uint16(elf.EM_RISCV))
	return program
}

// dynamic turns the first program header into one that names a dynamic linker.
func dynamic(program []byte) []byte {
	binary.LittleEndian.PutUint32(program[binary.LittleEndian.Uint64(program[programHeadersAt:]):], uint32(elf.PT_INTERP))
	return program
}

func TestBuild(t *testing.T) {
	static, dir := program(t, asItIs), t.TempDir()
	ref, archive, err := Build(static, dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(ref, repository+":") || len(ref) != len(repository)+1+12 {
		t.Errorf("ref %q: want %s: and twelve digits", ref, repository)
	}
	checkImage(t, ref, archive, "holdfast", static)

	before, err := os.Stat(archive)
	if err != nil {
		t.Fatal(err)
	}
	if again, _, err := Build(static, dir); err != nil || again != ref {
		t.Errorf("second build: %s, %v; want %s", again, err, ref)
	}
	if after, err := os.Stat(archive); err != nil || !os.SameFile(before, after) {
		t.Errorf("the second build wrote the archive again (%v)", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// checkFiles expects exactly one file, the executable program.
func checkFiles(t *testing.T, image v1.Image, name, static string) {
	t.Helper()
	files := tar.NewReader(mutate.Extract(image))
	header, err := files.Next()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(files)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(static)
	if err != nil {
		t.Fatal(err)
	}
	if header.Name != name || header.Mode != 0o755 || string(got) != string(want) {
		t.Errorf("file %s, mode %o, %d bytes; want %s, 755, %d bytes", header.Name, header.Mode, len(got), name, len(want))
	}
	if _, err := files.Next(); err != io.EOF {
		t.Errorf("more than one file in the image (%v)", err)
	}
}

func TestBuildRefuses(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ executable, want string }{
		"another machine":      {program(t, ofAnotherMachine), "built for EM_RISCV, but the nodes are"},
		"a dynamic executable": {program(t, dynamic), "linked dynamically"},
		"a script":             {text, "not a Linux executable"},
		"nothing":              {filepath.Join(t.TempDir(), "none"), "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, _, err := Build(test.executable, dir)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "build workload image: ") {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if left, _ := os.ReadDir(dir); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// checkImage expects that an archive contains an image that runs one program, and nothing else.
func checkImage(t *testing.T, ref, archive, program, executable string) {
	t.Helper()
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(archive, &tag)
	if err != nil {
		t.Fatalf("the archive does not hold %s: %v", ref, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{Entrypoint: []string{"/" + program}, User: "65532:65532", WorkingDir: "/"}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	checkFiles(t, image, program, executable)
}
