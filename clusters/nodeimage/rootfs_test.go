package nodeimage

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The hook packs the programs of kube-proxy with their libraries under the names that the dynamic linker uses, and removes the rest
// of what a build leaves.
func TestRootfsScript(t *testing.T) {
	root, bin, archive := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "netfilter.tar")
	place := func(name, text string) {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"usr/sbin/nft", "usr/sbin/conntrack", "usr/sbin/xtables-nft-multi", "usr/lib/x/xtables/libxt_tcp.so", "etc/protocols",
		"usr/lib/x/libmnl.so.0.2", "usr/lib/x/ld-linux.so.2", "etc/hostname", "usr/share/doc/nft/copyright", "var/cache/apt/pkgcache.bin",
		"usr/lib/systemd/system/multi-user.target.wants/cron.service", "usr/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
		"usr/lib/systemd/system/sysinit.target.wants/systemd-journald.service", "etc/systemd/system/x.wants/y"} {
		place(name, name)
	}
	links := map[string]string{"lib": "usr/lib", "usr/lib/x/libmnl.so.0": "libmnl.so.0.2"}
	for _, name := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"} {
		links["usr/sbin/"+name] = "xtables-nft-multi"
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	const ldd = "#!/bin/sh\nprintf '%s:\\n\\tlinux-vdso.so.1 (0x7f)\\n\\tlibmnl.so.0 => /lib/x/libmnl.so.0 (0x7f)\\n\\t/lib/x/ld-linux.so.2 (0x7f)\\n\\tstatically linked\\n' \"$3\"\n"
	if err := os.WriteFile(filepath.Join(bin, "chroot"), []byte(ldd), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", rootfsScript, "exec", root)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "NETFILTER="+archive)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	packed := strings.Join(listLayer(t, file), "\n")
	for _, want := range []string{"755 usr/sbin/nft ", "usr/sbin/iptables-save ", "usr/lib/x/xtables/libxt_tcp.so ", "etc/protocols ",
		`lib/x/libmnl.so.0 "usr/lib/x/libmnl.so.0.2"`, "lib/x/ld-linux.so.2 "} {
		if !strings.Contains(packed, want) {
			t.Errorf("no %s in\n%s", want, packed)
		}
	}
	var left []string
	for _, folder := range []string{"etc", "usr/share/doc", "var/cache", "usr/lib/systemd/system/multi-user.target.wants",
		"usr/lib/systemd/system/sysinit.target.wants", "etc/systemd/system/x.wants"} {
		left = slices.Concat(left, inFolder(t, filepath.Join(root, folder)))
	}
	if diff := cmp.Diff([]string{"protocols", "systemd", "systemd-journald.service"}, left); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// The load balancer has neither netfilter's programs nor systemd.
func TestRootfsScriptForTheBalancer(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "usr/share/doc/haproxy"), 0o755); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "sh", "-c", rootfsScript, "exec", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if left := inFolder(t, filepath.Join(root, "usr/share/doc")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}
