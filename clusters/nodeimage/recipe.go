package nodeimage

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"runtime"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/nodenet"
)

// DefaultKubernetes is the version that an empty version stands for: the newest one that builds and whose module the Go
// module proxy was seen to serve. (The proxy lists v1.37.2 but refuses to serve its source.)
const DefaultKubernetes = "v1.37.1"

// Versions of what an image holds besides Kubernetes. Those of containerd, runc and the CNI plugins are taken from the
// Dockerfile of kind's base image, because kind tests them together. etcd, CoreDNS and the pause image are missing here
// because kubeadm decides their versions.
const (
	kindVersion       = "v0.33.0" // must match go.mod: clusters are created with that library
	containerdVersion = "v2.3.4"
	runcVersion       = "v1.4.3"
	cniVersion        = "v1.9.1"
)

// debianSuite is the release of the root file system. Its systemd 252 boots on cgroup v1, v2 and hybrid; the systemd of
// Debian 13 refuses v1.
const debianSuite = "bookworm"

// packages of the root file system, in addition to mmdebstrap's minbase.
var packages = []string{
	"systemd", "dbus", // to run services
	"conntrack", "iptables", "nftables", "iproute2", "ethtool", "socat", // for kube-proxy, kubeadm and port-forward
	"netbase",                                            // for kube-proxy: see rootfs.sh
	"util-linux", "mount", "kmod", "e2fsprogs", "procps", // for kubelet and kind's entrypoint
	"libseccomp2", "pigz", "ca-certificates", // for containers
	"curl", "jq", // for kind's scripts, and for people who debug a node
}

// revision must be incremented when a change of the assembling code changes the content of an image.
const revision = 1

// ours are this package's files in an image.
//
//go:embed files
var ours embed.FS

// recipeKey is the same for two images if and only if they were made from the same inputs in the same way. The version of
// the Go toolchain does not count: another toolchain makes other binaries, but that is no reason to rebuild a whole image. Of
// holdfast's own executable only the source of the part that runs on nodes counts, for the same reason.
func recipeKey(kubernetes string) string {
	parts := []string{
		fmt.Sprint(revision), runtime.GOARCH, kubernetes, kindVersion, containerdVersion, runcVersion, cniVersion,
		debianSuite, strings.Join(packages, " "), rootfsScript, ContainerdSettings,
	}
	for _, tree := range []embed.FS{ours, nodenet.Source} {
		parts = append(parts, contents(tree)...)
	}
	return digest(parts...)
}

// contents are the names and texts of all files except tests, in alternation, ordered by name.
func contents(tree embed.FS) []string {
	var parts []string
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := tree.ReadFile(path)
		parts = append(parts, path, string(text))
		return err
	})
	if err != nil {
		panic(err) // embedded files are always readable
	}
	return parts
}

// digest of a list of texts, short enough for an image tag. Moving text from one element to the next changes it.
func digest(parts ...string) string {
	var all []byte
	for _, part := range parts {
		all = fmt.Appendf(all, "%d:%s", len(part), part)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])[:12]
}
