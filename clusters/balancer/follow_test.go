package balancer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeHAProxy records what it is asked to do: check a configuration, which it rejects if it contains 6.6.6.6; start;
// reload; and exit, on SIGTERM or when a file called die appears.
const fakeHAProxy = `#!/bin/sh
cd "$(dirname "$0")"
if [ "$1" = -c ]; then
	! grep -q 6.6.6.6 "$4" || { echo bad address; exit 1; }
	exit 0
fi
trap 'echo reload >>said' USR2
trap 'echo end >>said; exit 0' TERM
echo "start $*" >>said
while [ ! -e die ]; do sleep 0.02; done
exit 7
`

func newTestBalancer(t *testing.T, bootstrap string) (b *balancer, said func() string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "haproxy")
	if err := os.WriteFile(program, []byte(fakeHAProxy), 0o755); err != nil {
		t.Fatal(err)
	}
	b = newBalancer(bootstrap, filepath.Join(dir, "cfg"), program)
	return b, func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "said"))
		return strings.ReplaceAll(string(text), dir, "")
	}
}

// until waits for a condition that another process brings about.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("waited for %s", what)
		}
	}
}

// The whole life cycle: no configuration, kind's files, no change, a changed address, an address that HAProxy rejects, the
// end.
func TestFollow(t *testing.T) {
	bootstrap := written(t, map[string]string{"a": "a:6443", "b": "b:6443"}, false)
	cds := filepath.Join(filepath.Dir(bootstrap), "cds.yaml")
	full, err := os.ReadFile(cds)
	if err != nil {
		t.Fatal(err)
	}
	write(t, cds, "resources: []")
	b, said := newTestBalancer(t, bootstrap)
	at := map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"}
	b.lookup = func(_ context.Context, host string) ([]string, error) {
		if at[host] == "" {
			return nil, errors.New("no such host")
		}
		return []string{"fd00::1", at[host]}, nil
	}
	look := func() error {
		b.resolved = time.Time{} // as if five seconds had passed
		return b.look(t.Context())
	}
	if err := look(); !errors.Is(err, errNothing) || b.master != nil {
		t.Fatalf("started without a listener: %v", err)
	}
	write(t, cds, string(full))
	if err := look(); err != nil {
		t.Fatal(err)
	}
	until(t, "HAProxy", func() bool { return said() != "" })
	for range 3 {
		if err := look(); err != nil {
			t.Fatal(err)
		}
	}
	delete(at, "a") // killed: the engine no longer resolves its name
	at["b"] = "10.0.0.9"
	if err := look(); err != nil {
		t.Fatal(err)
	}
	until(t, "the reload", func() bool { return strings.Contains(said(), "reload") })
	config, err := os.ReadFile(b.config)
	if err != nil || !strings.Contains(string(config), "10.0.0.1:6443") || !strings.Contains(string(config), "10.0.0.9:6443") {
		t.Errorf("after a lost its name and b changed its address: %v\n%s", err, config)
	}
	at["b"] = "6.6.6.6"
	if err := look(); err == nil || !strings.Contains(err.Error(), "bad address") {
		t.Errorf("HAProxy refused it: %v", err)
	}
	if err := look(); err != nil {
		t.Errorf("a rejected configuration is tried again: %v", err)
	}
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("start -W -f /cfg\nreload\nend\n", said()); diff != "" {
		t.Errorf("HAProxy was asked (-want +got):\n%s", diff)
	}
}

// kind's shell restarts the program after a failure, and does not after a clean exit.
func TestKeepEnds(t *testing.T) {
	begin := func(t *testing.T) (b *balancer, cancel context.CancelFunc, ended chan error) {
		b, said := newTestBalancer(t, written(t, map[string]string{"a": "a:6443"}, false))
		b.lookup = func(context.Context, string) ([]string, error) { return []string{"10.0.0.1"}, nil }
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		ended = make(chan error, 1)
		go func() { ended <- b.keep(ctx) }()
		until(t, "HAProxy", func() bool { return said() != "" })
		return b, cancel, ended
	}
	t.Run("asked to", func(t *testing.T) {
		_, cancel, ended := begin(t)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("HAProxy dies", func(t *testing.T) {
		b, _, ended := begin(t)
		write(t, filepath.Join(filepath.Dir(b.program), "die"), "")
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "haproxy exited unexpectedly: exit status 7") {
			t.Errorf("got %v", err)
		}
	})
}

func TestPrefer(t *testing.T) {
	for _, c := range []struct {
		found []string
		now   string
		want  string
	}{
		{nil, "", ""},
		{[]string{"fd00::1"}, "", "fd00::1"},
		{[]string{"fd00::1", "10.0.0.1", "10.0.0.2"}, "", "10.0.0.1"},
		{[]string{"fd00::1", "10.0.0.1", "10.0.0.2"}, "10.0.0.2", "10.0.0.2"},
		{[]string{"10.0.0.3"}, "10.0.0.2", "10.0.0.3"},
	} {
		if got := prefer(c.found, c.now); got != c.want {
			t.Errorf("%v, now %q: %q, want %q", c.found, c.now, got, c.want)
		}
	}
}
