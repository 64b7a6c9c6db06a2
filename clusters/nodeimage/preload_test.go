package nodeimage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const kubeadmLists = `registry.example/kube-apiserver:v1.37.1
registry.example/kube-controller-manager:v1.37.1
registry.example/kube-scheduler:v1.37.1
registry.example/kube-proxy:v1.37.1
registry.example/coredns/coredns:v1.14.6
registry.example/pause:3.10.2
registry.example/etcd:3.7.0-0
`

func TestParseWanted(t *testing.T) {
	w, err := parseWanted(kubeadmLists + "\n")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for image := range w {
		got[image] = w[image].String() + " " + w.Version(image)
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
		"one is missing":  strings.Replace(kubeadmLists, "registry.example/etcd:3.7.0-0\n", "", 1),
		"one more":        kubeadmLists + "registry.example/konnectivity:v1\n",
		"no tag":          strings.Replace(kubeadmLists, ":3.10.2", "", 1),
		"nothing":         "",
		"a warning in it": "W1121 could not fetch a version\n" + kubeadmLists,
	} {
		if _, err := parseWanted(text); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

func TestControlPlane(t *testing.T) {
	dir := t.TempDir()
	netfilter := filepath.Join(dir, "netfilter.tar")
	lower := Tree{}
	lower.Add("usr/sbin/nft", "nft")
	packed, err := lower.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(netfilter, packed, 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := parseWanted(kubeadmLists)
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
	images, err := controlPlaneImages(w, bin, netfilter)
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
		files := strings.Join(listLayer(t, content), "\n")
		if want := "755 " + entrypoint[1:] + " \"" + image + "\""; !strings.Contains(files, want) {
			t.Errorf("%s: no %s in\n%s", image, want, files)
		}
		if has := strings.Contains(files, "usr/sbin/nft"); has != (image == "kube-proxy") {
			t.Errorf("%s: has nft: %v", image, has)
		}
	}
	if _, err := controlPlaneImages(w, bin, filepath.Join(dir, "none")); err == nil {
		t.Error("without netfilter's programs: no error")
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "containerd")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestStartContainerdEndsWithItsContext(t *testing.T) {
	stop := errors.New("Ctrl-C")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, stop)
	defer cancel()
	begun := time.Now()
	_, err := startContainerd(ctx, script(t, "exec sleep 300"), "c", filepath.Join(t.TempDir(), "sock"))
	if !errors.Is(err, stop) || time.Since(begun) > 20*time.Second {
		t.Errorf("after %s: %v", time.Since(begun), err)
	}
}
