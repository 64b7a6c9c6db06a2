package runfolder

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestThisMachine(t *testing.T) {
	if m := ThisMachine(); m.Cores < 1 || m.Arch != runtime.GOARCH || m.Kernel == "" {
		t.Errorf("%+v", m)
	}
}

func TestCPUModel(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel name\t: Some CPU @ 2:1 GHz\nmodel name\t: Other\n": "Some CPU @ 2:1 GHz",
		"processor\t: 0\nCPU part\t: 0xd0c\n":                                     "",
		"":                                                                        "",
	} {
		name := filepath.Join(t.TempDir(), "cpuinfo")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := cpuModel(name); got != want {
			t.Errorf("of %q: %q, want %q", text, got, want)
		}
	}
	if got := cpuModel(filepath.Join(t.TempDir(), "absent")); got != "" {
		t.Errorf("without a file: %q", got)
	}
}
