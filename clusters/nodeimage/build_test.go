package nodeimage

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// buildMachine has everything that a build reads or runs. Programs are text files.
func buildMachine(t *testing.T) *machine {
	m := newMachine(t)
	kind := kindModuleDir(t)
	m.files["/etc/os-release"] = debian12
	for _, path := range []string{
		kubernetesModule, etcdModule, corednsModule, containerd().module, runc().module, cniPlugins().module,
	} {
		m.files["/m/"+path] = "module " + path + "\n\ngo 1.26\n"
		m.answers["go mod download -json "+path] = answer{text: `{"Dir":"/m","GoMod":"/m/` + path + `","Version":"v3.7.0"}`}
	}
	m.answers["go mod download -json "+kindModule] = answer{text: `{"Dir":"` + kind + `"}`}
	m.answers["go build"] = answer{then: compiles}
	m.answers["kubeadm config images list"] = answer{text: kubeadmSays}
	m.answers["apt-config"], m.answers["apt-get indextargets"] = answer{}, answer{text: targets}
	m.answers["mmdebstrap"] = answer{then: bootstraps}
	m.answers["pkg-config"] = answer{}
	m.answers["gcc"] = answer{then: func(_ context.Context, c call) error {
		return os.WriteFile(c.args[slices.Index(c.args, "-o")+1], []byte("pause"), 0o755)
	}}
	m.answers["ctr oci spec"] = answer{text: `{"process":{}}`}
	m.answers["ctr --address"] = answer{then: func(_ context.Context, c call) error {
		root := filepath.Join(filepath.Dir(c.args[len(c.args)-1]), "containerd")
		for _, folder := range contentFolders {
			if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(root, contentFolders[1], "meta.db"), []byte("db"), 0o644)
	}}
	return m
}

// bootstraps answers mmdebstrap by writing the archives.
func bootstraps(_ context.Context, c call) error {
	rootfs, netfilter := Tree{}, Tree{}
	rootfs.Add("usr/bin/bash", "bash")
	netfilter.Add("usr/sbin/nft", "nft")
	for _, variable := range c.env {
		if file, ok := strings.CutPrefix(variable, "NETFILTER="); ok {
			if err := netfilter.WriteFile(file); err != nil {
				return err
			}
		}
	}
	return rootfs.WriteFile(c.args[len(c.args)-2])
}

const kubeadmSays = `registry.example/kube-apiserver:v1.37.1
registry.example/kube-controller-manager:v1.37.1
registry.example/kube-scheduler:v1.37.1
registry.example/kube-proxy:v1.37.1
registry.example/coredns/coredns:v1.14.6
registry.example/pause:3.10.2
registry.example/etcd:3.7.0-0
`

// loads is an engine that stores the archive of the image that is loaded into it.
func loads(t *testing.T) (e *fakeEngine, archive string) {
	archive = filepath.Join(t.TempDir(), "archive.tar")
	e = &fakeEngine{scripts: map[string]string{"load": "cat > " + archive}}
	e.held = map[string]string{builtName("v1.37.1"): builtSays}
	return e, archive
}

func TestBuild(t *testing.T) {
	m, o := buildMachine(t), Options{CacheDir: t.TempDir()}
	var told []string
	o.Progress = func(s Step) {
		if s.State != Started && s.State != Going {
			told = append(told, s.Name+": "+string(s.State))
		}
	}
	e, archive := loads(t)
	got, err := build(t.Context(), m.host(), e, "v1.37.1", o)
	if err != nil {
		t.Fatal(err)
	}
	want := Ref{Image: builtName("v1.37.1"), Kubernetes: "v1.37.1", Source: Built, Digest: "sha256:aaa", Network: NetworkAgent}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	steps := []string{
		"containerd v2.3.4", "runc v1.4.3", "cni v1.9.1", "coredns v3.7.0", "etcd v3.7.0", "kubernetes v1.37.1",
		"pause 3.10.2", "root file system (bookworm)", "put the image together and bring it into fake",
	}
	if diff := cmp.Diff(states(steps, Done), sorted(told)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	checkArchive(t, archive)
	if left := unfinished(t, o.CacheDir); left != nil {
		t.Errorf("left behind: %q", left)
	}

	// Another version of Kubernetes rebuilds only Kubernetes and the parts of its version.
	told = nil
	e.held[builtName("v1.36.3")] = builtSays
	if _, err := build(t.Context(), m.host(), e, "v1.36.3", o); err != nil {
		t.Fatal(err)
	}
	again := slices.Clone(told)
	for _, name := range []string{"containerd v2.3.4", "root file system (bookworm)", "runc v1.4.3", "etcd v3.7.0"} {
		if !slices.Contains(again, name+": from the cache") {
			t.Errorf("%s was made again: %q", name, again)
		}
	}
	if !slices.Contains(again, "kubernetes v1.36.3: done") {
		t.Errorf("another Kubernetes was not made: %q", again)
	}
}

func states(steps []string, state State) []string {
	var lines []string
	for _, step := range steps {
		lines = append(lines, step+": "+string(state))
	}
	return sorted(lines)
}

func sorted(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Sort(lines)
	return lines
}

// unfinished are the files in a cache folder that belong to no finished entry.
func unfinished(t *testing.T, dir string) []string {
	t.Helper()
	var left []string
	for _, name := range inFolder(t, dir) {
		if strings.HasPrefix(name, "tmp-") {
			left = append(left, name)
		}
	}
	return left
}

// savedImage is one image of an archive's manifest.
type savedImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// readArchive reads an archive in the format of `docker save`: its configuration, and the content of its layers by file
// name.
func readArchive(t *testing.T, path string, config any) (manifest []savedImage, layers map[string]string) {
	t.Helper()
	layers = map[string]string{}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	in := tar.NewReader(file)
	for header, err := in.Next(); err == nil; header, err = in.Next() {
		switch header.Name {
		case "manifest.json":
			err = json.NewDecoder(in).Decode(&manifest)
		case "config.json":
			err = json.NewDecoder(in).Decode(config)
		default:
			layers[header.Name] = strings.Join(listLayer(t, in), "\n")
		}
		if err != nil {
			t.Fatalf("%s: %v", header.Name, err)
		}
	}
	return manifest, layers
}

// checkArchive checks the archive that the engine received.
func checkArchive(t *testing.T, path string) {
	t.Helper()
	var config struct {
		Architecture string
		Config       struct {
			Labels     map[string]string
			StopSignal string
			Entrypoint []string
		}
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	whole, err := tarball.ImageFromPath(path, nil)
	if err == nil {
		err = validate.Image(whole)
	}
	if err != nil {
		t.Errorf("a reader other than the engine: %v", err)
	}
	manifest, layers := readArchive(t, path, &config)
	if len(manifest) != 1 || len(manifest[0].Layers) != 3 || manifest[0].Config != "config.json" ||
		!slices.Equal(manifest[0].RepoTags, []string{builtName("v1.37.1")}) {
		t.Fatalf("manifest %+v", manifest)
	}
	for i, name := range manifest[0].Layers {
		if want := strings.TrimPrefix(config.Rootfs.DiffIDs[i], "sha256:") + ".tar"; name != want {
			t.Errorf("layer %d is %s, its sum says %s", i, name, want)
		}
	}
	if config.Architecture != runtime.GOARCH || config.Config.StopSignal != "SIGRTMIN+3" ||
		!slices.Equal(config.Config.Entrypoint, []string{"/usr/local/bin/entrypoint", "/sbin/init"}) {
		t.Errorf("config %+v", config)
	}
	wantLabels := map[string]string{labelKubernetes: "v1.37.1", labelNetwork: "agent", labelRecipe: recipeKey("v1.37.1")}
	if diff := cmp.Diff(wantLabels, config.Config.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	for i, want := range [][]string{
		{"usr/bin/bash"},
		{
			"755 usr/local/bin/containerd ", "755 usr/local/bin/ctr ", "755 usr/local/sbin/runc ", "755 opt/cni/bin/ptp ",
			"755 usr/local/bin/entrypoint ", "etc/containerd/cri-base.json",
			"link etc/systemd/system/multi-user.target.wants/holdfast-net.service /etc/systemd/system/holdfast-net.service",
			"link usr/sbin/init /usr/lib/systemd/systemd", "755 etc/kubernetes/manifests/",
		},
		{
			"755 usr/bin/kubelet ", "755 usr/bin/kubeadm ", "755 usr/bin/kubectl ", `755 usr/local/bin/holdfast "the program holdfast"`, `644 kind/version "v1.37.1"`,
			"var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db", `registry.example/pause:3.10.2`, "kind/holdfast.json",
		},
	} {
		for _, name := range want {
			if !strings.Contains(layers[manifest[0].Layers[i]], name) {
				t.Errorf("layer %d: no %s in\n%.2000s", i, name, layers[manifest[0].Layers[i]])
			}
		}
	}
}

// A build that fails or is interrupted leaves no image and no incomplete cache entry; the next build reuses the finished
// parts.
func TestInterruptedBuild(t *testing.T) {
	stop := errors.New("stop")
	for _, c := range []struct {
		name  string
		at    string // the command that fails
		load  string // what the engine does instead of loading
		kept  string // a cache entry that is kept
		lost  string // a cache entry that is not
		want  string
		fatal bool // the context ends, instead of the command failing
	}{
		{name: "mmdebstrap fails", at: "mmdebstrap", lost: "rootfs-", want: "root file system (bookworm): stop"},
		{name: "the compiler fails", at: "go build", lost: "kubernetes-", want: "kubernetes v1.37.1: stop"},
		{name: "kubeadm fails", at: "kubeadm config images list", kept: "kubernetes-", want: "ask kubeadm for its images: stop"},
		{name: "the import fails", at: "ctr --address", kept: "rootfs-", want: "import the control plane's images into containerd: stop"},
		{name: "Ctrl-C in a compilation", at: "go build", fatal: true, lost: "kubernetes-", want: "stop"},
		{name: "Ctrl-C in the import", at: "ctr --address", fatal: true, kept: "rootfs-", want: "stop"},
		{name: "the engine's disk is full", load: "head -c 1000 >/dev/null; echo no space left on device >&2; exit 1", kept: "rootfs-",
			want: "no space left on device"},
		{name: "the engine dies", load: "kill -9 $$", kept: "etcd-", want: "load the image: signal: killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, o := buildMachine(t), Options{CacheDir: t.TempDir(), Progress: func(Step) {}}
			e, archive := loads(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.load != "" {
				e.scripts["load"] = c.load
			}
			if c.at != "" {
				m.answers[c.at] = answer{then: func(ctx context.Context, _ call) error {
					if c.fatal {
						cancel(stop)
						return context.Cause(ctx)
					}
					return stop
				}}
			}
			_, err := build(ctx, m.host(), e, "v1.37.1", o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, err := os.Stat(archive); err == nil {
				t.Error("the engine has an image")
			}
			if left := unfinished(t, o.CacheDir); left != nil {
				t.Errorf("left behind: %q", left)
			}
			names := strings.Join(inFolder(t, o.CacheDir), " ")
			if !strings.Contains(names, c.kept) || c.lost != "" && strings.Contains(names, c.lost) {
				t.Errorf("the cache holds %s; want %q kept, %q not", names, c.kept, c.lost)
			}
		})
	}
}
