package nodeimage

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// enabled are the systemd units that start with the node.
var enabled = []string{"containerd", "kubelet", "undo-mount-hacks", "holdfast-net"}

// assemble loads the image into the engine. It has three layers. The lower two are the same for every version of
// Kubernetes, so the engine stores them once. The engine tags the image only when it has all of it.
func (b *builder) assemble(ctx context.Context, e Engine, p parts, name, work string) error {
	base, err := b.base(ctx, p)
	if err != nil {
		return err
	}
	upper, err := b.ofVersion(ctx, p, base, work)
	if err != nil {
		return err
	}
	files := []string{filepath.Join(p.rootfs, rootfsTar), filepath.Join(work, "base.tar"), filepath.Join(work, "version.tar")}
	for i, t := range []Tree{base, upper} {
		if err := t.WriteFile(files[i+1]); err != nil {
			return err
		}
	}
	config := v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Created: v1.Time{Time: time.Now().UTC()},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Env: []string{
				searchPath,
				"container=docker", // systemd detects by this that it runs in a container
				// An empty value makes kind's entrypoint remove the host's search domains from resolv.conf, unless the
				// cluster sets dnsSearch. With search domains, every lookup of a Service by its long name asks external DNS
				// servers first.
				"KIND_DNS_SEARCH=",
			},
			Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
			StopSignal: "SIGRTMIN+3", // at SIGTERM systemd re-executes itself instead
			Labels: map[string]string{
				labelKubernetes: b.version, labelNetwork: string(NetworkAgent), labelRecipe: recipeKey(b.version),
			},
		},
	}
	return loadLayers(ctx, e, name, config, files)
}

// base is the layer that all versions of Kubernetes share.
func (b *builder) base(ctx context.Context, p parts) (Tree, error) {
	t, err := kindFiles(p.kind)
	if err != nil {
		return nil, err
	}
	if err := addOurs(t); err != nil {
		return nil, err
	}
	for folder, from := range map[string]string{
		"usr/local/bin": p.containerd, "usr/local/sbin": p.runc, "opt/cni/bin": p.cni,
	} {
		if err := t.Programs(folder, from); err != nil {
			return nil, err
		}
	}
	for _, unit := range enabled {
		t.Link("etc/systemd/system/multi-user.target.wants/"+unit+".service", "/etc/systemd/system/"+unit+".service")
	}
	t.Link("etc/systemd/system/systemd-binfmt.service", "/dev/null") // binfmt handlers are registered in the host's kernel
	t.Link("usr/sbin/init", "/usr/lib/systemd/systemd")
	t.Folder("etc/kubernetes/manifests")
	spec, err := b.run(ctx, call{name: filepath.Join(p.containerd, "ctr"), args: []string{"oci", "spec"}})
	if err != nil {
		return nil, fmt.Errorf("create the containers' base spec: %w", err)
	}
	text, err := containerBase(spec)
	t.Add("etc/containerd/cri-base.json", text)
	return t, err
}

// kindFiles are the static files of kind's base image, read from kind's module. Scripts become executable. Files for
// rootless nodes on fuse-overlayfs and for building the image are left out.
func kindFiles(moduleDir string) (Tree, error) {
	root := filepath.Join(moduleDir, "images", "base", "files")
	t := Tree{}
	for _, part := range []string{"etc", "kind", "usr/local/bin/entrypoint"} {
		if err := t.Copy(part, filepath.Join(root, filepath.FromSlash(part))); err != nil {
			return nil, fmt.Errorf("read the files of kind's base image: %w", err)
		}
	}
	for _, name := range []string{"etc", "etc/systemd", "etc/systemd/system", "etc/systemd/system/containerd-fuse-overlayfs.service"} {
		delete(t, name)
	}
	t.Executable("kind/bin")
	t.Executable("usr/local/bin")
	return t, nil
}

// addOurs adds this package's embedded files.
func addOurs(t Tree) error {
	list := contents(ours)
	for pair := range slices.Chunk(list, 2) {
		name, err := filepath.Rel("files", pair[0])
		if err != nil {
			return err
		}
		t.Add(name, pair[1])
	}
	return nil
}

// containerBase is the base OCI spec of every container: with kind's hook, which hides the host's hardware names, and
// without rlimits, which would be those of the build machine.
func containerBase(spec []byte) (string, error) {
	var base map[string]any
	if err := json.Unmarshal(spec, &base); err != nil {
		return "", fmt.Errorf("read the containers' base spec: %w", err)
	}
	process, ok := base["process"].(map[string]any)
	if !ok {
		return "", errors.New("read the containers' base spec: it has no process section")
	}
	delete(process, "rlimits")
	base["hooks"] = map[string]any{"createContainer": []any{map[string]any{"path": "/kind/bin/mount-product-files.sh"}}}
	text, err := json.MarshalIndent(base, "", "  ")
	return string(text) + "\n", err
}

var (
	sandboxLine = regexp.MustCompile(`(?m)^(\s*sandbox_image\s*=\s*)".*"$`)
	oomLine     = regexp.MustCompile(`(?m)^(\s*restrict_oom_score_adj\s*=\s*)false$`)
)

// ContainerdSettings are what holdfast changes in kind's containerd configuration, as TOML.
//
//go:embed containerd.toml
var ContainerdSettings string

// containerdConfig sets two values in kind's containerd configuration: the pause image, and that a container's OOM score
// never goes below containerd's own. Lowering the score needs CAP_SYS_RESOURCE, which root may lack. It adds ContainerdSettings.
func containerdConfig(text, pause string) (string, error) {
	if !sandboxLine.MatchString(text) || !oomLine.MatchString(text) {
		return "", errors.New("read kind's containerd configuration: it has no sandbox_image or no restrict_oom_score_adj")
	}
	text = sandboxLine.ReplaceAllString(text, "${1}"+fmt.Sprintf("%q", pause))
	return oomLine.ReplaceAllString(text, "${1}true") + ContainerdSettings, nil
}

// ofVersion is the layer for one version of Kubernetes.
func (b *builder) ofVersion(ctx context.Context, p parts, base Tree, work string) (Tree, error) {
	bin := map[string]string{
		"etcd": filepath.Join(p.etcd, "etcd"), "coredns": filepath.Join(p.dns, "coredns"), "pause": filepath.Join(p.pause, "pause"),
	}
	t := Tree{}
	t.Program("usr/local/bin/holdfast", b.holdfast) // not in base, which would then differ between two builds of holdfast
	for _, command := range kubernetes(b.version).commands {
		name := path.Base(command)
		bin[name] = filepath.Join(p.kubernetes, name)
		if !strings.HasPrefix(name, "kube-") {
			t.Program("usr/bin/"+name, bin[name]) // where kind's units expect them
		}
	}
	images, err := controlPlaneImages(p.wanted, bin, filepath.Join(p.rootfs, netfilterTar))
	if err != nil {
		return nil, err
	}
	root, err := preload(ctx, p.containerd, work, images, b.start, b.do)
	if err != nil {
		return nil, fmt.Errorf("import the control plane's images into containerd: %w", err)
	}
	for _, folder := range contentFolders {
		if err := t.Copy("var/lib/containerd/"+folder, filepath.Join(root, folder)); err != nil {
			return nil, err
		}
	}
	config, err := base.Read("etc/containerd/config.toml")
	if err != nil {
		return nil, err
	}
	if config, err = containerdConfig(config, p.wanted["pause"].String()); err != nil {
		return nil, err
	}
	t.Add("etc/containerd/config.toml", config)
	t.Add("kind/version", b.version)
	made, err := json.MarshalIndent(b.made(p), "", "  ")
	t.Add("kind/holdfast.json", string(made)+"\n")
	return t, err
}

// made lists what an image was made of, for people who inspect it. The version of etcd or CoreDNS differs from the one in
// the image's tag if that version could not be downloaded; see servable.
func (b *builder) made(p parts) map[string]string {
	return map[string]string{
		"kubernetes": b.version, "go": b.golang.version, "debian": debianSuite, "kind": kindVersion,
		"containerd": containerdVersion, "runc": runcVersion, "cni-plugins": cniVersion,
		"etcd": p.etcdVersion, "etcd-image": p.wanted["etcd"].String(),
		"coredns": p.dnsVersion, "coredns-image": p.wanted["coredns"].String(),
		"pause-image": p.wanted["pause"].String(), "recipe": recipeKey(b.version),
	}
}
