package nodeimage

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kubeadmSays = `registry.example/kube-apiserver:v1.37.1
registry.example/kube-controller-manager:v1.37.1
registry.example/kube-scheduler:v1.37.1
registry.example/kube-proxy:v1.37.1
registry.example/coredns/coredns:v1.14.6
registry.example/pause:3.10.2
registry.example/etcd:3.7.0-0
`

func TestParseWanted(t *testing.T) {
	w, err := parseWanted(kubeadmSays + "\n")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for image := range w {
		got[image] = w[image].String() + " " + w.version(image)
	}
	want := map[string]string{
		"kube-apiserver":          "registry.example/kube-apiserver:v1.37.1 v1.37.1",
		"kube-controller-manager": "registry.example/kube-controller-manager:v1.37.1 v1.37.1",
		"kube-scheduler":          "registry.example/kube-scheduler:v1.37.1 v1.37.1",
		"kube-proxy":              "registry.example/kube-proxy:v1.37.1 v1.37.1",
		"coredns":                 "registry.example/coredns/coredns:v1.14.6 v1.14.6",
		"pause":                   "registry.example/pause:3.10.2 v3.10.2",
		"etcd":                    "registry.example/etcd:3.7.0-0 v3.7.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{
		"one is missing":  strings.Replace(kubeadmSays, "registry.example/etcd:3.7.0-0\n", "", 1),
		"one more":        kubeadmSays + "registry.example/konnectivity:v1\n",
		"no tag":          strings.Replace(kubeadmSays, ":3.10.2", "", 1),
		"nothing":         "",
		"a warning in it": "W1121 could not fetch a version\n" + kubeadmSays,
	} {
		if _, err := parseWanted(text); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

func TestControlPlane(t *testing.T) {
	dir := t.TempDir()
	netfilter := filepath.Join(dir, "netfilter.tar")
	lower := tree{}
	lower.add("usr/sbin/nft", "nft")
	packed, err := lower.pack()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(netfilter, packed, 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := parseWanted(kubeadmSays)
	if err != nil {
		t.Fatal(err)
	}
	bin := map[string]string{}
	for image := range w {
		bin[image] = filepath.Join(dir, image)
		if err := os.WriteFile(bin[image], []byte(image), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	images, err := controlPlane(w, bin, netfilter)
	if err != nil {
		t.Fatal(err)
	}
	for image, entrypoint := range map[string]string{
		"etcd": "/usr/local/bin/etcd", "coredns": "/coredns", "pause": "/pause", "kube-proxy": "/usr/local/bin/kube-proxy",
	} {
		made := images[w[image]]
		config, err := made.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{entrypoint}, config.Config.Entrypoint); diff != "" {
			t.Errorf("%s: entry point (-want +got):\n%s", image, diff)
		}
		layers, err := made.Layers()
		if err != nil || len(layers) != 1 || len(config.RootFS.DiffIDs) != 1 {
			t.Fatalf("%s: %d layers, %v", image, len(layers), err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		files := strings.Join(listTar(t, content), "\n")
		if want := "755 " + entrypoint[1:] + " \"" + image + "\""; !strings.Contains(files, want) {
			t.Errorf("%s: no %s in\n%s", image, want, files)
		}
		if has := strings.Contains(files, "usr/sbin/nft"); has != (image == "kube-proxy") {
			t.Errorf("%s: has nft: %v", image, has)
		}
	}
	if _, err := controlPlane(w, bin, filepath.Join(dir, "none")); err == nil {
		t.Error("without netfilter's programs: no error")
	}
}

func TestWriteNetfilter(t *testing.T) {
	const linker = "lib64/ld-linux-x86-64.so.2"
	program, err := os.ReadFile("/bin/sh") // any dynamic program of this machine
	if err != nil {
		t.Skip(err)
	}
	root := t.TempDir()
	place := func(name string, content []byte) {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range netfilterPrograms {
		place(name, program)
	}
	if err := writeNetfilter(&bytes.Buffer{}, root); err == nil || !strings.Contains(err.Error(), "etc/protocols") {
		t.Errorf("without the names of protocols: %v", err)
	}
	place("etc/protocols", []byte("tcp 6 TCP\n"))
	needed, err := needs(filepath.Join(root, netfilterPrograms[0]))
	if err != nil || len(needed) < 2 || needed[len(needed)-1] != "/"+linker {
		t.Skipf("/bin/sh is not a dynamic program for x86-64: %q, %v", needed, err)
	}
	if err := writeNetfilter(&bytes.Buffer{}, root); err == nil || !strings.HasPrefix(err.Error(), "find ") {
		t.Errorf("without libraries: %v", err)
	}
	// Libraries that need nothing more; the linker is a link, as on Debian.
	self := staticProgram(t)
	for _, library := range needed[:len(needed)-1] {
		place("usr/lib/x86_64-linux-gnu/"+library+".real", self)
		if err := os.Symlink(library+".real", filepath.Join(root, "usr/lib/x86_64-linux-gnu", library)); err != nil {
			t.Fatal(err)
		}
	}
	place("usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", self)
	place("usr/lib/x86_64-linux-gnu/xtables/libxt_tcp.so", self)
	if err := os.MkdirAll(filepath.Join(root, "usr/lib64"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, link := range [][2]string{{"usr/lib", "lib"}, {"/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "usr/" + linker}} {
		if err := os.Symlink(link[0], filepath.Join(root, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := writeNetfilter(&out, root); err != nil {
		t.Fatal(err)
	}
	var got []string
	in := tar.NewReader(&out)
	for header, err := in.Next(); err == nil; header, err = in.Next() {
		got = append(got, header.Name+" "+header.Linkname)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{
		"usr/sbin/nft ", "usr/sbin/xtables-nft-multi ", "usr/sbin/iptables xtables-nft-multi", "usr/sbin/conntrack ", "etc/protocols ",
		"usr/lib/x86_64-linux-gnu/xtables/libxt_tcp.so ", "usr/" + linker + " ", "lib64 usr/lib64", "usr/lib/x86_64-linux-gnu/" + needed[0] + " ",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}

// staticProgram is the smallest ELF file, which needs no library.
func staticProgram(t *testing.T) []byte {
	t.Helper()
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Shentsize: 64}
	copy(header.Ident[:], elf.ELFMAG+string([]byte{byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}))
	var file bytes.Buffer
	if err := binary.Write(&file, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestInside(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "real"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"abs": "/real", "rel": "real", "twice": "abs", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"real", "abs", "rel", "twice"} {
		if got, err := inside(root, name); err != nil || got != filepath.Join(root, "real") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, name := range []string{"none", "loop"} {
		if got, err := inside(root, name); err == nil {
			t.Errorf("%s: %s, want an error", name, got)
		}
	}
}
