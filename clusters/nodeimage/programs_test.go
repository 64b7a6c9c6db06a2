package nodeimage

import (
	"context"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kubernetesGoMod = `module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require k8s.io/api v0.0.0

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kubelet => ./staging/src/k8s.io/kubelet
	example.org/fork => example.org/ours v1.0.0
	example.org/old v0.9.0 => example.org/old v0.9.1
)
`

func TestGoMod(t *testing.T) {
	for _, c := range []struct {
		name    string
		program program
		own     string
		want    string
	}{
		{
			name: "kubernetes", program: program{name: "kubernetes", module: kubernetesModule, version: "v1.37.1", commands: []string{"k8s.io/kubernetes/cmd/kubeadm"}},
			own: kubernetesGoMod,
			want: "module holdfast.dev/build/kubernetes\n\ngo 1.26.0\n\ngodebug default=go1.26\nrequire k8s.io/kubernetes v1.37.1\n\n" +
				"tool k8s.io/kubernetes/cmd/kubeadm\n" +
				"replace k8s.io/api => k8s.io/api v0.37.1\nreplace k8s.io/kubelet => k8s.io/kubelet v0.37.1\n" +
				"replace example.org/fork => example.org/ours v1.0.0\nreplace example.org/old v0.9.0 => example.org/old v0.9.1\n",
		},
		{
			name: "etcd's neighbours are published with it", program: etcd("v3.7.0"),
			own:  "module go.etcd.io/etcd/server/v3\n\ngo 1.26\n\nreplace go.etcd.io/etcd/api/v3 => ../api\n",
			want: "module holdfast.dev/build/etcd\n\ngo 1.26\n\nrequire go.etcd.io/etcd/server/v3 v3.7.0\n\ntool go.etcd.io/etcd/server/v3\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.program.goMod([]byte(c.own))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := etcd("v3.7.0").goMod([]byte("nonsense")); err == nil || !strings.HasPrefix(err.Error(), "read the go.mod of go.etcd.io/etcd/server/v3: ") {
		t.Errorf("got %v", err)
	}
}

func TestProgramKey(t *testing.T) {
	base := etcd("v3.7.0")
	changes := map[string]func(p *program){
		"version": func(p *program) { p.version = "v3.7.1" },
		"command": func(p *program) { p.commands = append(p.commands, "x") },
		"flags":   func(p *program) { p.ldflags = "-X x=y" },
		"tags":    func(p *program) { p.tags = "x" },
		"cgo":     func(p *program) { p.cgo = true },
		"rename":  func(p *program) { p.rename = "x" },
		"system":  func(p *program) { p.system = "darwin" },
		"main":    func(p *program) { p.main = "package main" },
	}
	for name, change := range changes {
		other := etcd("v3.7.0")
		change(&other)
		if other.key("go1.26.8") == base.key("go1.26.8") {
			t.Errorf("another %s, and the same key", name)
		}
	}
	if base.key("go1.26.9") == base.key("go1.26.8") {
		t.Error("another toolchain, and the same key")
	}
	linux := etcd("v3.7.0")
	linux.system = "linux"
	if linux.key("go1.26.8") != base.key("go1.26.8") {
		t.Error("the same program has two keys")
	}
}

// compiles answers go build by writing the commands that a throw-away module names.
func compiles(_ context.Context, c call) error {
	mod, err := os.ReadFile(filepath.Join(c.dir, "go.mod"))
	if err != nil {
		return err
	}
	out := c.args[len(c.args)-2]
	var made []string
	for line := range strings.Lines(string(mod)) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "tool "); ok {
			made = append(made, filepath.Base(strings.TrimSuffix(command, "/v3")))
		}
	}
	if c.args[len(c.args)-1] == "." { // go names the program after the module
		if _, err := os.Stat(filepath.Join(c.dir, "main.go")); err != nil {
			return err
		}
		module, _, _ := strings.Cut(strings.TrimPrefix(string(mod), "module "), "\n")
		made = append(made, filepath.Base(module))
	}
	for _, name := range made {
		if err := os.WriteFile(filepath.Join(out, name), []byte("the program "+name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// TestCoreDNS: whatever kubeadm's Corefile names is in the program. In a Corefile the plugin metrics is called prometheus.
func TestCoreDNS(t *testing.T) {
	m := newMachine(t)
	m.files["/m/go.mod"] = "module github.com/coredns/coredns\n\ngo 1.25.0\n"
	m.answers["go mod download -json"] = answer{text: `{"Dir":"/m","GoMod":"/m/go.mod"}`}
	m.answers["go build"] = answer{then: compiles}
	dir, work := t.TempDir(), t.TempDir()
	if err := m.golang(t).build(t.Context(), coredns("v1.14.6"), dir, work, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"coredns"}, inFolder(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join(work, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "main.go", text, parser.ImportsOnly)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	imported := map[string]bool{}
	for _, spec := range parsed.Imports {
		imported[strings.Trim(spec.Path.Value, `"`)] = true
	}
	for _, plugin := range strings.Fields("errors health ready kubernetes metrics forward cache loop reload loadbalance") {
		if !imported["github.com/coredns/coredns/plugin/"+plugin] {
			t.Errorf("the plugin %s is missing", plugin)
		}
	}
	if !imported["github.com/coredns/coredns/coremain"] || imported["github.com/coredns/coredns/core/plugin"] {
		t.Errorf("imported are %v: want CoreDNS's main function without the list of all plugins", imported)
	}
}
