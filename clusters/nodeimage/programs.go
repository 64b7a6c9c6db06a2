package nodeimage

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	kindModule       = "sigs.k8s.io/kind"
	etcdModule       = "go.etcd.io/etcd/server/v3"
	corednsModule    = "github.com/coredns/coredns"
)

// program is one or more commands of a Go module, built together.
type program struct {
	name     string   // of the cache entry
	module   string   // the module's path
	version  string   // and version
	system   string   // that it runs on, as Go names it; empty: Linux
	commands []string // package paths
	rename   string   // the file name of the only command, if it differs from the last element of the package path
	main     string   // source of the only command, if the module has no such command; its name is that of the entry
	ldflags  string
	tags     string
	cgo      bool
}

// containerd, runc and the CNI plugins follow the Dockerfile of kind's base image.
func containerd() program {
	const path = "github.com/containerd/containerd/v2"
	return program{
		name: "containerd", module: path, version: containerdVersion,
		commands: []string{path + "/cmd/containerd", path + "/cmd/containerd-shim-runc-v2", path + "/cmd/ctr"},
		ldflags:  "-X " + path + "/version.Version=" + containerdVersion,
		tags:     "no_aufs no_btrfs no_devmapper no_zfs", // kind uses none of these snapshotters
	}
}

func runc() program {
	const path = "github.com/opencontainers/runc"
	return program{
		name: "runc", module: path, version: runcVersion, commands: []string{path}, cgo: true,
		// Static, because it is compiled against this machine's libraries and runs in the image's root file system.
		ldflags: "-X main.version=" + strings.TrimPrefix(runcVersion, "v") + " -linkmode external -extldflags -static",
		tags:    "seccomp netgo osusergo",
	}
}

func cniPlugins() program {
	const path = "github.com/containernetworking/plugins"
	return program{
		name: "cni", module: path, version: cniVersion,
		commands: []string{
			path + "/plugins/ipam/host-local", path + "/plugins/main/loopback", path + "/plugins/main/ptp",
			path + "/plugins/meta/portmap",
		},
		ldflags: "-X " + path + "/pkg/utils/buildversion.BuildVersion=" + cniVersion,
	}
}

func etcd(version string) program {
	return program{name: "etcd", module: etcdModule, version: version, commands: []string{etcdModule}, rename: "etcd"}
}

// dnsMain is CoreDNS's main package with the plugins that clusters use. Its own has clients of clouds, of etcd and of tracing services: with
// them CoreDNS took 181 s of processor time to compile, without them 99 s.
//
//go:embed coredns.txt
var dnsMain string

func coredns(version string) program {
	return program{name: "coredns", module: corednsModule, version: version, main: dnsMain}
}

// kubernetes are the commands of a node and of a control plane. Without the version in the ldflags each of them reports
// v0.0.0 and kubeadm refuses to work.
func kubernetes(version string) program {
	p := program{name: "kubernetes", module: kubernetesModule, version: version}
	for _, command := range []string{
		"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubeadm", "kubectl",
	} {
		p.commands = append(p.commands, kubernetesModule+"/cmd/"+command)
	}
	minor, _ := numbers(version)
	for _, path := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		p.ldflags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=%[3]d -X %[1]s.gitTreeState=clean",
			path, version, minor)
	}
	return p
}

// key is the same for two builds if and only if they produce the same files.
func (p program) key(goVersion string) string {
	inputs := append([]string{p.module, p.version, p.rename, p.ldflags, p.tags, fmt.Sprint(p.cgo), goVersion, runtime.GOARCH}, p.commands...)
	if p.goos() != "linux" { // the key of a program for Linux is older than the choice
		inputs = append(inputs, p.goos())
	}
	if p.main != "" {
		inputs = append(inputs, p.main)
	}
	return digest(inputs...)
}

// goos is the system that the commands run on.
func (p program) goos() string { return cmp.Or(p.system, "linux") }

// entry is the name of the cache entry that the files are kept in.
func (p program) entry(goVersion string) string {
	return p.name + "-" + p.version + "-" + p.key(goVersion)
}

// goMod is the go.mod of a throw-away module whose tools are the commands. Replacements that point to a folder of the
// module's own repository do not exist outside of it. Kubernetes replaces its staging modules that way; they are also
// published as v0.X.Y, and goMod requires those versions instead.
func (p program) goMod(own []byte) ([]byte, error) {
	file, err := modfile.Parse("go.mod", own, nil)
	if err != nil {
		return nil, fmt.Errorf("read the go.mod of %s: %w", p.module, err)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "module holdfast.dev/build/%s\n\n", p.name)
	if file.Go != nil {
		fmt.Fprintf(&text, "go %s\n\n", file.Go.Version)
	}
	for _, debug := range file.Godebug { // godebug lines count in the main module only
		fmt.Fprintf(&text, "godebug %s=%s\n", debug.Key, debug.Value)
	}
	fmt.Fprintf(&text, "require %s %s\n\n", p.module, p.version)
	for _, command := range p.commands {
		fmt.Fprintf(&text, "tool %s\n", command)
	}
	for _, replace := range file.Replace { // replace lines count in the main module only
		switch {
		case !modfile.IsDirectoryPath(replace.New.Path):
			fmt.Fprintf(&text, "replace %s => %s %s\n", strings.TrimSpace(replace.Old.Path+" "+replace.Old.Version), replace.New.Path, replace.New.Version)
		case p.module == kubernetesModule:
			fmt.Fprintf(&text, "replace %[1]s => %[1]s v0%s\n", replace.Old.Path, strings.TrimPrefix(p.version, "v1"))
		}
	}
	return text.Bytes(), nil
}

// build compiles the commands into dir.
func (g goTool) build(ctx context.Context, p program, dir, work string, log *os.File) error {
	source, err := g.download(ctx, p.module, p.version)
	if err != nil {
		return err
	}
	own, err := g.readFile(source.GoMod)
	if err != nil {
		return err
	}
	mod, err := p.goMod(own)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "go.mod"), mod, 0o644); err != nil {
		return err
	}
	if p.main != "" {
		if err := os.WriteFile(filepath.Join(work, "main.go"), []byte(p.main), 0o644); err != nil {
			return err
		}
	}
	if err := g.compile(ctx, p, dir, work, log); err != nil {
		return err
	}
	if p.rename == "" {
		return nil
	}
	built, err := os.ReadDir(dir)
	if err != nil || len(built) != 1 {
		return fmt.Errorf("find the command of %s among %v: %w", p.module, built, err)
	}
	return os.Rename(filepath.Join(dir, built[0].Name()), filepath.Join(dir, p.rename))
}

// compile builds programs without debug information. The compilers of Kubernetes take a fifth less time without it.
func (g goTool) compile(ctx context.Context, p program, dir, work string, log *os.File) error {
	cgo := map[bool]string{false: "CGO_ENABLED=0", true: "CGO_ENABLED=1"}[p.cgo]
	what := map[bool]string{false: "tool", true: "."}[p.main != ""]
	_, err := g.run(ctx, call{dir: work, name: g.path, log: log,
		args: []string{"build", "-trimpath", "-buildvcs=false", "-tags", p.tags, "-gcflags", "all=-dwarf=false", "-ldflags", "-s -w " + p.ldflags,
			"-o", dir + string(filepath.Separator), what},
		env: append(compilerEnv(g.readFile), "GOFLAGS=-mod=mod", "GOWORK=off", "GO111MODULE=on", "GOOS="+p.goos(), "GOARCH="+runtime.GOARCH, cgo),
	})
	return err
}
