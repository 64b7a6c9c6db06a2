package nodenet

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// machine answers commands and records them.
type machine struct {
	answers map[string]string
	fails   map[string]bool

	mu    sync.Mutex
	asked []string
}

func (m *machine) said() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.asked, "\n")
}

func (m *machine) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = nil
}

func (m *machine) run(_ context.Context, stdin, name string, args ...string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := strings.Join(append([]string{name}, args...), " ")
	m.asked = append(m.asked, line)
	if stdin != "" {
		m.asked = append(m.asked, strings.Split(strings.TrimSpace(stdin), "\n")...)
	}
	if m.fails[line] {
		return "", errors.New(line)
	}
	return m.answers[line], nil
}

func testPaths(t *testing.T) paths {
	dir := t.TempDir()
	return paths{
		kubelet: filepath.Join(dir, "kubelet.conf"), admin: filepath.Join(dir, "admin.conf"), kubeadm: filepath.Join(dir, "kubeadm.conf"),
		conflist: filepath.Join(dir, "net.d", "10-holdfast.conflist"), state: filepath.Join(dir, "state", "nodes.json"),
		noEgress: filepath.Join(dir, "no-egress"), ipam: filepath.Join(dir, "ipam"), booted: filepath.Join(dir, "run", "booted"),
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const listing = "ip -4 route show proto 107"

func TestApply(t *testing.T) {
	m := &machine{answers: map[string]string{
		listing: "10.96.0.0/16 dev eth0 scope link\nblackhole 10.244.7.0/24\n10.244.1.0/24 via 10.89.0.9 dev eth0\n10.244.5.0/24 via 10.89.0.5 dev eth0\n",
	}}
	at := testPaths(t)
	if err := makePlan(two, "a", lab, true, 1500).apply(t.Context(), m.run, at); err != nil {
		t.Fatal(err)
	}
	want := []string{
		listing,
		"ip -4 -force -batch -",
		"addr replace 10.244.0.1/32 dev lo",
		"route del blackhole 10.244.7.0/24 proto 107",
		"route del 10.244.5.0/24 proto 107",
		"route replace blackhole 10.244.0.0/24 proto 107",
		"route replace 10.96.0.0/16 dev eth0 src 10.244.0.1 proto 107",
		"route replace 10.244.1.0/24 via 10.89.0.3 src 10.244.0.1 proto 107",
		"nft -f -",
	}
	got := strings.Split(m.said(), "\n")
	if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(at.conflist); err != nil {
		t.Error(err)
	}
}

func TestApplyWithoutEgress(t *testing.T) {
	p := makePlan(two, "a", lab, false, 1500)
	for _, c := range []struct {
		name, defaults string
		removed        bool
	}{
		{"there is a default route", "default via 10.89.0.1 dev eth0\n", true},
		{"there is none", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &machine{answers: map[string]string{"ip -4 route show default": c.defaults}}
			if err := p.apply(t.Context(), m.run, testPaths(t)); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(m.said(), "ip -4 route del default"); got != c.removed {
				t.Errorf("default route removed: %v, want %v; asked %q", got, c.removed, m.said())
			}
		})
	}
}

// A wrong address of another node, or rules that do not load, must not keep the node from getting its CNI configuration.
func TestApplyGoesOn(t *testing.T) {
	m := &machine{fails: map[string]bool{"ip -4 -force -batch -": true, "nft -f -": true}}
	at := testPaths(t)
	err := makePlan(two, "a", lab, true, 1500).apply(t.Context(), m.run, at)
	if err == nil || !strings.Contains(err.Error(), "-batch") || !strings.Contains(err.Error(), "nft") {
		t.Errorf("got %v, want both failures", err)
	}
	if _, err := os.Stat(at.conflist); err != nil {
		t.Error(err)
	}
}

func TestReplaceFileLeavesAnEqualFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "file")
	if err := replaceFile(path, []byte("x")); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1000, 0)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text    string
		changed bool
	}{{"x", false}, {"y", true}} {
		if err := replaceFile(path, []byte(c.text)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if changed := !info.ModTime().Equal(old); changed != c.changed {
			t.Errorf("written %q: changed %v, want %v", c.text, changed, c.changed)
		}
	}
}

func TestForgetPods(t *testing.T) {
	at := testPaths(t)
	dir := filepath.Join(at.ipam, "holdfast")
	for _, name := range []string{"10.244.0.2", "10.244.0.3", "last_reserved_ip.0", "lock"} {
		write(t, filepath.Join(dir, name), "x")
	}
	if err := forgetPods(at); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"last_reserved_ip.0", "lock"}, inFolder(t, dir)); diff != "" {
		t.Errorf("after the node's start (-want +got):\n%s", diff)
	}
	write(t, filepath.Join(dir, "10.244.0.4"), "x")
	if err := forgetPods(at); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10.244.0.4", "last_reserved_ip.0", "lock"}, inFolder(t, dir)); diff != "" {
		t.Errorf("after a restart of the agent alone (-want +got):\n%s", diff)
	}
}

func inFolder(t *testing.T, dir string) []string {
	t.Helper()
	names, err := fs.Glob(os.DirFS(dir), "*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestNotify(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the test is over
	t.Setenv("NOTIFY_SOCKET", socket)
	if err := notify(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 20)
	n, err := conn.Read(got)
	if err != nil || string(got[:n]) != "READY=1" {
		t.Errorf("got %q, %v", got[:n], err)
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if err := notify(); err != nil {
		t.Errorf("without systemd: %v", err)
	}
}

func TestRememberAndRecall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nodes.json")
	if got := recall(path); got != nil {
		t.Errorf("from nothing: %v", got)
	}
	if err := remember(path, two); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(two, recall(path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	write(t, path, `[{"name":`)
	if got := recall(path); got != nil {
		t.Errorf("from half a file: %v", got)
	}
}

func TestReadSubnets(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       subnets
		fails      bool
	}{
		{name: "as kind writes it", text: "networking:\n  podSubnet: \"10.244.0.0/16\"\n  serviceSubnet: \"10.96.0.0/16\"\n", want: lab},
		{name: "unquoted, both families", text: "  podSubnet: fd00::/56,10.1.0.0/16\n  serviceSubnet: 10.2.0.0/16,fd01::/112\n",
			want: subnets{pods: "10.1.0.0/16", services: "10.2.0.0/16"}},
		{name: "IPv6 only", text: "podSubnet: fd00::/56\nserviceSubnet: fd01::/112\n", fails: true},
		{name: "half", text: "podSubnet: 10.1.0.0/16\n", fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeadm.conf")
			write(t, path, c.text)
			got, err := readSubnets(path)
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("got %v, %v; want %v, an error: %v", got, err, c.want, c.fails)
			}
		})
	}
	if _, err := readSubnets(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
