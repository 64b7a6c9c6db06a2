package images_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/deploy/images"
)

// machine runs the scripts of a node on this machine, with a root folder of its own, and with programs that only note how they were called.
type machine struct {
	t    *testing.T
	root string
}

// The paths on a node that the scripts use.
var nodePaths = []string{"/var/lib/holdfast", "/usr/local/bin", "/etc/containerd"}

func newMachine(t *testing.T, n *clustertest.Node) machine {
	t.Helper()
	m := machine{t, t.TempDir()}
	for _, path := range append(nodePaths, "/bin") {
		if err := os.MkdirAll(m.root+path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.write("/etc/containerd/config.toml", "version = 2\n")
	m.program("systemd-run", `touch "$ROOT/running"`)
	m.program("systemctl", `case "$*" in is-active*) test -e "$ROOT/running" ;; stop*) rm -f "$ROOT/running" ;; esac`)
	m.program("curl", `test -e "$ROOT/running"`)
	m.program("ctr", `test ! -e "$ROOT/broken" || { echo "no such host" >&2; exit 1; }`)
	m.program("containerd", "# /etc/containerd/certs.d:/etc/docker/certs.d")
	m.program("journalctl", "")
	m.program("seq", "echo 1")
	if runtime.GOOS == "darwin" { // its programs lack options that those of nodes have
		m.write("/bin/mv", `#!/bin/bash
if [ "$1" = --target-directory ]; then to=$2; shift 2; exec /bin/mv "$@" "$to"; fi
exec /bin/mv "$@"
`)
		m.write("/bin/xargs", `#!/bin/bash
if [ "$1" = --no-run-if-empty ]; then shift; fi # it runs nothing for no input anyway
exec /usr/bin/xargs "$@"
`)
		m.write("/bin/sha256sum", "#!/bin/bash\nexec shasum -a 256 \"$@\"\n")
	}
	n.OnExec = func(command []string) ([]byte, error) { return m.run(nil, command) }
	n.OnFeed = func(input io.Reader, command []string) error {
		_, err := m.run(input, command)
		return err
	}
	return m
}

func (m machine) write(path, text string) {
	m.t.Helper()
	if err := os.WriteFile(m.root+path, []byte(text), 0o755); err != nil { //nolint:gosec // programs among them
		m.t.Fatal(err)
	}
}

// program puts a program before those of this machine.
func (m machine) program(name, text string) {
	m.write("/bin/"+name, "#!/bin/bash\necho \""+name+" $*\" >>\"$ROOT/calls\"\n"+text+"\n")
}

func (m machine) read(path string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.root + path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}
	return string(text)
}

func (m machine) run(input io.Reader, command []string) ([]byte, error) {
	var args []string
	for _, arg := range command[1:] {
		for _, path := range nodePaths {
			arg = strings.ReplaceAll(arg, path, m.root+path)
		}
		// What containerd's executable contains is not a path of this machine.
		args = append(args, strings.ReplaceAll(arg, "$default:/etc", "/etc/containerd/certs.d:/etc"))
	}
	cmd := exec.CommandContext(m.t.Context(), command[0], args...)
	cmd.Env = append(os.Environ(), "ROOT="+m.root, "PATH="+m.root+"/bin:"+os.Getenv("PATH"))
	cmd.Stdin = input
	out, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		err = fmt.Errorf("%w: %s", err, ended.Stderr)
	}
	return out, err
}

// calls are how a program was called.
func (m machine) calls(program string) (all []string) {
	for line := range strings.Lines(strings.ReplaceAll(m.read("/calls"), m.root, "")) {
		if strings.HasPrefix(line, program+" ") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

// blobs are the blobs of a folder.
func blobs(t *testing.T, folder string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(folder, "blobs", "sha256"))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		names = append(names, one.Name())
	}
	return names
}

// world is a cluster whose nodes are folders of this machine.
func world(t *testing.T) (cluster *clustertest.Cluster, load, worker machine) {
	t.Helper()
	cluster = clustertest.New("c", clusters.Spec{Zones: []string{"a"}, WorkersPerZone: 1})
	newMachine(t, cluster.Node("cp"))
	return cluster, newMachine(t, cluster.Node("load")), newMachine(t, cluster.Node("wa1"))
}

func TestTheLoadNodeHasExactlyTheImages(t *testing.T) {
	cluster, load, _ := world(t)
	executable := filepath.Join(t.TempDir(), "holdfast")
	start := func(program, layout string) error {
		t.Helper()
		if err := os.WriteFile(executable, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		return images.StartMirror(t.Context(), cluster, "172.18.0.3", layout, executable, nil)
	}
	served := load.root + "/var/lib/holdfast/mirror"
	first := layoutOf(t, Docker(t, "", []string{"web:1"}, Layer(t, "base"), Layer(t, "first")))
	second := layoutOf(t, Docker(t, "", []string{"web:2"}, Layer(t, "base"), Layer(t, "second")))
	for _, step := range []struct {
		program, layout, broken string
		starts                  int
	}{
		{"v1", first, "", 1}, {"v1", first, "", 1}, {"v1", second, "incoming", 1}, {"v2", second, "", 2}, {"v2", first, "running", 3},
	} {
		switch step.broken {
		case "incoming": // a transfer was interrupted
			load.write("/var/lib/holdfast/mirror/incoming", "half")
		case "running": // the program has ended
			if err := os.Remove(load.root + "/running"); err != nil {
				t.Fatal(err)
			}
		}
		if err := start(step.program, step.layout); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(blobs(t, step.layout), blobs(t, served)); diff != "" {
			t.Errorf("blobs (-want +got):\n%s", diff)
		}
		index, err := os.ReadFile(filepath.Join(step.layout, "index.json"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(index), load.read("/var/lib/holdfast/mirror/index.json")); diff != "" {
			t.Errorf("index (-want +got):\n%s", diff)
		}
		if got := load.read("/usr/local/bin/holdfast-mirror"); got != step.program {
			t.Errorf("program %q, want %q", got, step.program)
		}
		if got := load.calls("systemd-run"); len(got) != step.starts ||
			!strings.HasSuffix(got[0], "/usr/local/bin/holdfast-mirror workload mirror /var/lib/holdfast/mirror") {
			t.Errorf("started by %q, want %d", got, step.starts)
		}
	}
	n := newNode(t, served)
	if layer, _, err := n.pull("web:1"); err != nil || layer != Layer(t, "base") {
		t.Errorf("pulled %d bytes, %v", len(layer), err)
	}
}

func TestATransferThatFails(t *testing.T) {
	cluster, load, _ := world(t)
	layout := layoutOf(t, Docker(t, "", []string{"web:1"}, Layer(t, strings.Repeat("large", 1<<20))))
	executable := filepath.Join(t.TempDir(), "holdfast")
	if err := os.WriteFile(executable, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	load.program("tar", `head --bytes 1000 >/dev/null; echo "No space left on device" >&2; exit 2`)
	err := images.StartMirror(t.Context(), cluster, "172.18.0.3", layout, executable, nil)
	if err == nil || !strings.Contains(err.Error(), "bring the images to load: ") || !strings.Contains(err.Error(), "No space left on device") {
		t.Errorf("a full disk: %v", err)
	}
	if got := blobs(t, load.root+"/var/lib/holdfast/mirror"); len(got) > 0 {
		t.Errorf("served: %v", got)
	}
	if err := os.Remove(load.root + "/bin/tar"); err != nil {
		t.Fatal(err)
	}
	load.program("curl", "exit 7")
	if err := images.StartMirror(t.Context(), cluster, "172.18.0.3", layout, executable, nil); err == nil || !strings.Contains(err.Error(), "holdfast-mirror does not answer") {
		t.Errorf("a program that does not start: %v", err)
	}
	if err := os.Remove(filepath.Join(layout, "index.json")); err != nil {
		t.Fatal(err)
	}
	if err := images.StartMirror(t.Context(), cluster, "172.18.0.3", layout, executable, nil); err == nil || !strings.Contains(err.Error(), "index.json") {
		t.Errorf("a layout without an index: %v", err)
	}
}

func TestEveryNodeAsksTheMirror(t *testing.T) {
	const hosts = "server = \"http://172.18.0.3:15055\"\n"
	image := "docker.io/library/nginx@" + Digest("x").String()
	for name, test := range map[string]struct {
		config, containerd string
		folder             string
		restarts           int
		want               string // error
	}{
		"a default":             {"version = 2\n", "/etc/containerd/certs.d:/etc/docker/certs.d", "/etc/containerd/certs.d", 0, ""},
		"a setting":             {"[x]\n  config_path = \"ROOT/etc/containerd/mine:/etc/other\"\n", "", "/etc/containerd/mine", 0, ""},
		"an empty setting":      {"[x]\n  config_path = ''\n", "/etc/containerd/certs.d:/etc/docker/certs.d", "/etc/containerd/certs.d", 0, ""},
		"an older containerd":   {"version = 2\n", "", "/etc/containerd/certs.d", 1, ""},
		"registries of its own": {"[plugins.\"io.containerd.grpc.v1.cri\".registry]\n", "", "", 0, "sets its registries in another way"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, _, worker := world(t)
			worker.write("/etc/containerd/config.toml", strings.ReplaceAll(test.config, "ROOT", worker.root))
			worker.program("containerd", "# "+test.containerd)
			executable := filepath.Join(t.TempDir(), "holdfast")
			if err := os.WriteFile(executable, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			layout := layoutOf(t, Docker(t, "", []string{"web:1"}, Layer(t, "web")))
			err := images.StartMirror(t.Context(), cluster, "172.18.0.3", layout, executable, []string{"docker.io/library/web:1", image})
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "wa1") {
					t.Errorf("error %v, want one with %q and the node", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := worker.read(test.folder + "/_default/hosts.toml"); got != hosts {
				t.Errorf("hosts.toml %q, want %q", got, hosts)
			}
			const pull = "ctr --namespace k8s.io images pull --hosts-dir "
			want := []string{pull + test.folder + " --skip-metadata docker.io/library/web:1", pull + test.folder + " --skip-metadata " + image}
			if diff := cmp.Diff(want, worker.calls("ctr")); diff != "" {
				t.Errorf("pulls (-want +got):\n%s", diff)
			}
			if got := worker.calls("systemctl"); len(got) != test.restarts {
				t.Errorf("systemctl was called by %q, want %d", got, test.restarts)
			}
			if got := strings.Count(worker.read("/etc/containerd/config.toml"), "config_path"); test.restarts > 0 && got != 1 {
				t.Errorf("config_path is set %d times", got)
			}
			worker.write("/broken", "")
			err = images.StartMirror(t.Context(), cluster, "172.18.0.3", layout, executable, []string{"docker.io/library/web:1"})
			if err == nil || !strings.Contains(err.Error(), "load the images into wa1: ") || !strings.Contains(err.Error(), "pull docker.io/library/web:1: no such host") {
				t.Errorf("a pull that fails: %v", err)
			}
			if got := worker.calls("systemctl"); len(got) != test.restarts {
				t.Errorf("the second time systemctl was called by %q", got)
			}
		})
	}
}
