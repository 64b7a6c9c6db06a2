package nodeimage

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
)

// DefaultKubernetes is the version that an empty version stands for: the newest whose module the Go module proxy was
// seen to serve and that builds. (v1.37.2 is listed, but refused when its source is asked for.)
const DefaultKubernetes = "v1.37.1"

// Versions of what an image holds beside Kubernetes. Those of containerd, runc and the CNI plugins are the ones that
// the Dockerfile of kind's own base image names, because kind tests them together. etcd, CoreDNS and the pause image
// are not here: kubeadm says which it wants.
const (
	kindVersion       = "v0.33.0" // must be the one in go.mod: a cluster is made by that library
	containerdVersion = "v2.3.4"
	runcVersion       = "v1.4.3"
	cniVersion        = "v1.9.1"
)

// debianSuite is the release of the root file system: its systemd 252 boots on cgroup v1, on v2 and on a mix of both;
// that of Debian 13 refuses v1.
const debianSuite = "bookworm"

// packages of the root file system, beside what debootstrap's minbase brings.
var packages = []string{
	"systemd", "dbus", // to run services
	"conntrack", "iptables", "nftables", "iproute2", "ethtool", "socat", // for kube-proxy, kubeadm and port-forward
	"netbase",                                            // for kube-proxy: see netfilterFiles
	"util-linux", "mount", "kmod", "e2fsprogs", "procps", // for kubelet and kind's entrypoint
	"libseccomp2", "pigz", "ca-certificates", // for containers
	"curl", "jq", // for kind's scripts, and for a person who looks around
}

// revision is raised by hand when the code that puts an image together changes what is in it.
const revision = 1

// ours are the files that an image gets from this package; agentSource is the source of its network agent.
//
//go:embed files
var ours embed.FS

//go:embed agent/main.go agent/plan.go agent/apply.go agent/follow.go agent/api.go
var agentSource embed.FS

// recipeKey is the same for two images exactly if they were made of the same things in the same way. The Go toolchain
// is not among them: another one makes another binary, but no reason to make a whole image again.
func recipeKey(kubernetes string) string {
	parts := []string{
		fmt.Sprint(revision), runtime.GOARCH, kubernetes, kindVersion, containerdVersion, runcVersion, cniVersion,
		debianSuite, strings.Join(packages, " "),
	}
	for _, tree := range []embed.FS{ours, agentSource} {
		parts = append(parts, contents(tree)...)
	}
	return digest(parts...)
}

// contents are the names and texts of all files, in order of their names.
func contents(tree embed.FS) []string {
	var parts []string
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := tree.ReadFile(path)
		parts = append(parts, path, string(text))
		return err
	})
	if err != nil {
		panic(err) // what was embedded can be read
	}
	return parts
}

// digest of a list of texts, short enough for a tag. Where one text ends and the next begins counts.
func digest(parts ...string) string {
	var all []byte
	for _, part := range parts {
		all = fmt.Appendf(all, "%d:%s", len(part), part)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])[:12]
}
