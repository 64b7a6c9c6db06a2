package nodeimage

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Files of a root file system's cache entry.
const (
	rootfsTar    = "rootfs.tar"    // the lowest layer of an image
	netfilterTar = "netfilter.tar" // nft, iptables, conntrack and their libraries, for the kube-proxy image
)

//go:embed rootfs.sh
var rootfsScript string

// mergedUsr is a hook of mmdebstrap that merges /bin, /lib and /sbin into /usr. Without it a package does so, which needs perl.
// Older versions of mmdebstrap do not have it.
const mergedUsr = "/usr/share/mmdebstrap/hooks/maybe-merged-usr"

// rootfs returns the cache entry of the root file system of a node.
func (b *builder) rootfs(ctx context.Context) (dir string, cached bool, err error) {
	return b.bootstrap(ctx, "rootfs", packages, netfilterTar)
}

// bootstrap makes a root file system with packages. If netfilter is not empty, it is the name of an archive beside it with the
// programs that kube-proxy calls.
func (b *builder) bootstrap(ctx context.Context, name string, packages []string, netfilter string) (dir string, cached bool, err error) {
	from, err := b.findDistribution(ctx)
	if err != nil {
		return "", false, err
	}
	return b.cache.Entry(rootfsEntry(name, from.suite, packages, netfilter), func(keep, work string) error {
		if b.uid != 0 {
			return errors.New("only root can do this (mmdebstrap changes owners and mounts): run holdfast as root, " +
				"or load the image into the container engine")
		}
		there := func() bool { _, err := b.lookPath("mmdebstrap"); return err == nil }
		if err := b.need(ctx, b.options, "mmdebstrap", there, "mmdebstrap"); err != nil {
			return err
		}
		env := []string{"TMPDIR=" + work}
		if netfilter != "" {
			env = append(env, "NETFILTER="+filepath.Join(keep, netfilter))
		}
		return b.logged(name, func(log *os.File) error {
			return b.mmdebstrap(ctx, from, packages, filepath.Join(keep, rootfsTar), env, log)
		})
	})
}

// rootfsEntry is the name of the cache entry of a root file system.
func rootfsEntry(name, suite string, packages []string, netfilter string) string {
	return name + "-" + suite + "-" + digest(append([]string{suite, fmt.Sprint(revision), rootfsScript, netfilter}, packages...)...)
}

// mmdebstrap packs a root file system into a file. It leaves out device nodes, because an engine makes its own.
func (b *builder) mmdebstrap(ctx context.Context, from distribution, packages []string, file string, env []string, log *os.File) error {
	path, err := b.lookPath("mmdebstrap")
	if err != nil {
		return err
	}
	args := []string{"--mode=root", "--variant=minbase", "--skip=output/dev", "--components=" + from.components,
		"--include=" + strings.Join(packages, ","), "--customize-hook=" + rootfsScript}
	if _, err := b.readFile(filepath.Join(mergedUsr, "setup00.sh")); err == nil {
		args = append(args, "--hook-dir="+mergedUsr)
	}
	if from.keyring != "" {
		args = append(args, "--keyring="+from.keyring)
	}
	env = append(env, "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")
	if from.proxy != "" {
		env = append(env, "http_proxy="+from.proxy)
	}
	_, err = b.run(ctx, call{name: path, args: append(args, from.suite, file, from.mirror), env: env, log: log, ownMounts: true})
	return err
}
