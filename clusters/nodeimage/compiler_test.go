package nodeimage

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestCompilerEnv(t *testing.T) {
	gib := func(n int) string {
		return fmt.Sprintf("MemTotal: 1 kB\nMemFree: 1 kB\nMemAvailable:  %d kB\nBuffers: 1 kB\n", n*runtime.GOMAXPROCS(0)<<20)
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		set   string // a variable that the user has set
		want  string
	}{
		{name: "enough", files: map[string]string{"/proc/meminfo": gib(12)}, want: "GOGC=400 GOMEMLIMIT=6144MiB"},
		{name: "little", files: map[string]string{"/proc/meminfo": gib(3)}},
		{name: "little for it, on cgroup v1", files: map[string]string{"/proc/meminfo": gib(64), "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648\n"}},
		{name: "unreadable", files: map[string]string{"/proc/meminfo": "\nMemAvailable: many kB\n"}},
		{name: "the user's GOGC", files: map[string]string{"/proc/meminfo": gib(64)}, set: "GOGC"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOGC", "")
			t.Setenv("GOMEMLIMIT", "")
			if c.set != "" {
				t.Setenv(c.set, "50")
			}
			read := func(path string) ([]byte, error) {
				if text, ok := c.files[path]; ok {
					return []byte(text), nil
				}
				return nil, os.ErrNotExist
			}
			if got := strings.Join(compilerEnv(read), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
