package nodeimage

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Files of a root file system's cache entry.
const (
	rootfsTar    = "rootfs.tar"    // the lowest layer of a node image
	netfilterTar = "netfilter.tar" // nft, iptables, conntrack and their libraries, for the kube-proxy image
)

// rootfs returns the cache entry of the root file system.
func (b *builder) rootfs(ctx context.Context) (dir string, cached bool, err error) {
	from, err := b.findDistribution(ctx)
	if err != nil {
		return "", false, err
	}
	name := "rootfs-" + from.suite + "-" + digest(append([]string{from.suite, fmt.Sprint(revision)}, packages...)...)
	return b.cache.entry(name, func(keep, work string) error {
		tree, err := b.bootstrap(ctx, from, packages, work)
		if err != nil {
			return err
		}
		if err := writeFileWith(filepath.Join(keep, netfilterTar), func(w io.Writer) error { return writeNetfilter(w, tree) }); err != nil {
			return err
		}
		return tarTreeTo(filepath.Join(keep, rootfsTar), tree)
	})
}

// bootstrap makes a root file system with packages in a folder below work, and returns the folder.
func (b *builder) bootstrap(ctx context.Context, from distribution, packages []string, work string) (tree string, err error) {
	if b.uid != 0 {
		return "", errors.New("only root can do this (debootstrap changes owners and mounts): run holdfast as root, or load the image into the container engine")
	}
	tree = filepath.Join(work, "rootfs")
	if err := b.debootstrap(ctx, from, packages, tree); err != nil {
		return "", err
	}
	return tree, trim(tree)
}

func (b *builder) debootstrap(ctx context.Context, from distribution, packages []string, tree string) error {
	there := func() bool { _, err := b.lookPath("debootstrap"); return err == nil }
	if err := b.need(ctx, b.options, "debootstrap", there, "debootstrap"); err != nil {
		return err
	}
	path, err := b.lookPath("debootstrap")
	if err != nil {
		return err
	}
	log, err := b.cache.log("rootfs")
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // a log
	args := []string{"--variant=minbase", "--include=" + strings.Join(packages, ","), "--components=" + from.components}
	if from.keyring != "" {
		args = append(args, "--keyring="+from.keyring)
	}
	env := []string{"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"}
	if from.proxy != "" {
		env = append(env, "http_proxy="+from.proxy)
	}
	args = append(args, from.suite, tree, from.mirror)
	_, err = b.run(ctx, call{name: path, args: args, env: env, log: log, ownMounts: true})
	if err != nil {
		return fmt.Errorf("%w\nthe whole log is in %s", err, log.Name())
	}
	return nil
}

// useless are files that a node does not need: settings of this machine that debootstrap copies, package lists, and
// documentation. systemd units are removed because kind's Dockerfile removes all but its own: most of them do what only the
// host may do.
var useless = []string{
	"etc/resolv.conf", "etc/hostname", "etc/machine-id", "etc/apt/sources.list",
	"var/lib/apt/lists/*", "var/cache/*", "var/log/*",
	"usr/share/doc/*", "usr/share/man/*", "usr/share/locale/*", "usr/share/info/*",
	"etc/systemd/system/*.wants/*",
	"usr/lib/systemd/system/multi-user.target.wants/*", "usr/lib/systemd/system/local-fs.target.wants/*",
	"usr/lib/systemd/system/basic.target.wants/*", "usr/lib/systemd/system/sockets.target.wants/*udev*",
	"usr/lib/systemd/system/sockets.target.wants/*initctl*",
	"usr/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service", // it would empty /tmp and /run under kind
}

func trim(tree string) error {
	for _, pattern := range useless {
		found, err := filepath.Glob(filepath.Join(tree, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("trim the root file system: %w", err)
			}
		}
	}
	return nil
}

func tarTreeTo(file, tree string) error {
	return writeFileWith(file, func(w io.Writer) error { return tarTree(w, tree) })
}

// tarTree writes a directory with owners and modes, in name order. Anything but files, directories and symlinks (the device
// nodes that debootstrap makes) is left out: an engine makes its own.
func tarTree(w io.Writer, tree string) error {
	out := tar.NewWriter(w)
	err := filepath.WalkDir(tree, func(path string, _ os.DirEntry, err error) error {
		if err != nil || path == tree {
			return err
		}
		name, err := filepath.Rel(tree, path)
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		return addToTar(out, path, name, info)
	})
	if err != nil {
		return fmt.Errorf("pack %s: %w", tree, err)
	}
	return out.Close()
}

func addToTar(out *tar.Writer, path, name string, info os.FileInfo) error {
	var target string
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		var err error
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	case !info.Mode().IsRegular() && !info.IsDir():
		return nil
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header.Name = name
	if info.IsDir() {
		header.Name += "/"
	}
	header.Uname, header.Gname = "", "" // user and group names would be those of this machine; only the numbers matter
	if err := out.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	_, err = io.Copy(out, file)
	return err
}

func writeFileWith(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
