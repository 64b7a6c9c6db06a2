package nodeimage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// enabled are the systemd units that start with the node.
var enabled = []string{"containerd", "kubelet", "undo-mount-hacks", "holdfast-net"}

// base is the layer that all versions of Kubernetes share.
func (b *builder) base(ctx context.Context, p parts) (tree, error) {
	t, err := kindFiles(p.kind)
	if err != nil {
		return nil, err
	}
	if err := t.addOurs(); err != nil {
		return nil, err
	}
	for folder, from := range map[string]string{
		"usr/local/bin": p.containerd, "usr/local/sbin": p.runc, "opt/cni/bin": p.cni,
	} {
		if err := t.programs(folder, from); err != nil {
			return nil, err
		}
	}
	for _, unit := range enabled {
		t.link("etc/systemd/system/multi-user.target.wants/"+unit+".service", "/etc/systemd/system/"+unit+".service")
	}
	t.link("etc/systemd/system/systemd-binfmt.service", "/dev/null") // binfmt handlers are registered in the host's kernel
	t.link("usr/sbin/init", "/usr/lib/systemd/systemd")
	t.folder("etc/kubernetes/manifests")
	spec, err := b.run(ctx, call{name: filepath.Join(p.containerd, "ctr"), args: []string{"oci", "spec"}})
	if err != nil {
		return nil, fmt.Errorf("create the containers' base spec: %w", err)
	}
	text, err := containerBase(spec)
	t.add("etc/containerd/cri-base.json", text)
	return t, err
}

// addOurs adds this package's embedded files.
func (t tree) addOurs() error {
	list := contents(ours)
	for pair := range slices.Chunk(list, 2) {
		name, err := filepath.Rel("files", pair[0])
		if err != nil {
			return err
		}
		t.add(name, pair[1])
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

// containerdConfig sets two values in kind's containerd configuration: the pause image, and that a container's OOM score
// never goes below containerd's own. Lowering the score needs CAP_SYS_RESOURCE, which root may lack.
func containerdConfig(text, pause string) (string, error) {
	if !sandboxLine.MatchString(text) || !oomLine.MatchString(text) {
		return "", errors.New("read kind's containerd configuration: it has no sandbox_image or no restrict_oom_score_adj")
	}
	text = sandboxLine.ReplaceAllString(text, "${1}"+fmt.Sprintf("%q", pause))
	return oomLine.ReplaceAllString(text, "${1}true"), nil
}

// ofVersion is the layer for one version of Kubernetes.
func (b *builder) ofVersion(ctx context.Context, p parts, base tree, work string) (tree, error) {
	bin := map[string]string{
		"etcd": filepath.Join(p.etcd, "etcd"), "coredns": filepath.Join(p.dns, "coredns"), "pause": filepath.Join(p.pause, "pause"),
	}
	t := tree{}
	t.program("usr/local/bin/holdfast", b.holdfast) // not in base, which would then differ between two builds of holdfast
	for _, command := range kubernetes(b.version).commands {
		name := path.Base(command)
		bin[name] = filepath.Join(p.kubernetes, name)
		if !strings.HasPrefix(name, "kube-") {
			t.program("usr/bin/"+name, bin[name]) // where kind's units expect them
		}
	}
	images, err := controlPlane(p.wanted, bin, filepath.Join(p.rootfs, netfilterTar))
	if err != nil {
		return nil, err
	}
	root, err := b.preload(ctx, p.containerd, work, images)
	if err != nil {
		return nil, fmt.Errorf("import the control plane's images into containerd: %w", err)
	}
	for _, folder := range contentFolders {
		if err := t.copy("var/lib/containerd/"+folder, filepath.Join(root, folder)); err != nil {
			return nil, err
		}
	}
	config, err := base.read("etc/containerd/config.toml")
	if err != nil {
		return nil, err
	}
	if config, err = containerdConfig(config, p.wanted["pause"].String()); err != nil {
		return nil, err
	}
	t.add("etc/containerd/config.toml", config)
	t.add("kind/version", b.version)
	made, err := json.MarshalIndent(b.made(p), "", "  ")
	t.add("kind/holdfast.json", string(made)+"\n")
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
