package nodeimage

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/base/process"
)

// wantedImages are the images that kubeadm wants for a version of Kubernetes, by the last element of their name: "etcd",
// "kube-proxy", ...
type wantedImages map[string]name.Tag

// parseWanted reads the output of `kubeadm config images list`. The list must be exactly the images that this recipe makes:
// a version of Kubernetes that wants another image needs another recipe.
func parseWanted(text string) (wantedImages, error) {
	w := wantedImages{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		tag, err := name.NewTag(line, name.StrictValidation)
		if err != nil {
			return nil, fmt.Errorf("read kubeadm's list of images: %w", err)
		}
		w[path.Base(tag.RepositoryStr())] = tag
	}
	known := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "etcd", "coredns", "pause"}
	for _, image := range known {
		if _, ok := w[image]; !ok {
			return nil, fmt.Errorf("read kubeadm's list of images: %s is not among %q", image, text)
		}
	}
	if len(w) != len(known) {
		return nil, fmt.Errorf("read kubeadm's list of images: it contains an image that holdfast cannot make: %q", text)
	}
	return w, nil
}

// Version is the version of the program in an image, for example v3.7.0 for etcd's tag 3.7.0-0.
func (w wantedImages) Version(image string) string {
	version, _, _ := strings.Cut(strings.TrimPrefix(w[image].TagStr(), "v"), "-")
	return "v" + version
}

// controlPlaneImages makes the images of the control plane and of kube-proxy: each is one static program. kube-proxy also calls
// the netfilter programs, which are dynamically linked and are packed into the same layer.
func controlPlaneImages(w wantedImages, bin map[string]string, netfilter string) (map[name.Tag]v1.Image, error) {
	images := map[name.Tag]v1.Image{}
	for image, tag := range w {
		at := "usr/local/bin/" + image
		if image == "coredns" || image == "pause" {
			at = image // kubeadm and the kubelet start these by the image's entry point; the official images have them at this path
		}
		t := Tree{}
		t.Program(at, bin[image])
		t.Folder("etc") // for the files that the runtime mounts
		packed, err := t.Pack()
		if err == nil && image == "kube-proxy" {
			packed, err = join(netfilter, packed)
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", image, err)
		}
		made, err := singleLayer(packed, "/"+at)
		if err != nil {
			return nil, fmt.Errorf("make image %s: %w", tag, err)
		}
		images[tag] = made
	}
	return images, nil
}

// appendTar copies the entries of a tar file to out without closing out.
func appendTar(out *tar.Writer, from io.Reader) error {
	in := tar.NewReader(from)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
}

// join concatenates two tar archives.
func join(lower string, upper []byte) ([]byte, error) {
	file, err := os.Open(lower)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	var both bytes.Buffer
	out := tar.NewWriter(&both)
	if err := errors.Join(appendTar(out, file), appendTar(out, bytes.NewReader(upper)), out.Close()); err != nil {
		return nil, err
	}
	return both.Bytes(), nil
}

// searchPath is the PATH of a container; it is needed because kubeadm starts some programs by their bare names.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func singleLayer(content []byte, entrypoint string) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Env: []string{searchPath}, Entrypoint: []string{entrypoint}},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, layer)
}

// contentFolders are the parts of containerd's folder that hold images which have not been unpacked.
var contentFolders = []string{"io.containerd.content.v1.content/blobs", "io.containerd.metadata.v1.bolt"}

// startFunc starts the containerd of a folder of programs with a configuration file. It returns when containerd accepts connections.
type startFunc func(ctx context.Context, program, config, socket string) (stop func() error, err error)

// doFunc runs a program to its end.
type doFunc func(ctx context.Context, program string, args ...string) error

// preload imports images into a new folder of containerd, below work. bin is the folder of containerd's programs. Preload starts a
// containerd of its own on this machine for the import. That containerd has its own folders and socket, and the plugins that run
// containers are disabled.
func preload(ctx context.Context, bin, work string, images map[name.Tag]v1.Image, start startFunc, do doFunc) (root string, err error) {
	archive := filepath.Join(work, "images.tar")
	if err := tarball.MultiWriteToFile(archive, images); err != nil {
		return "", fmt.Errorf("write the control plane's images: %w", err)
	}
	short, err := os.MkdirTemp("", "holdfast-") // the path of a socket is limited to 107 characters
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(short) //nolint:errcheck // a folder with a socket
	root = filepath.Join(work, "containerd")
	socket := filepath.Join(short, "sock")
	config := filepath.Join(short, "config.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, preloadConfig, root, filepath.Join(short, "state"), socket), 0o644); err != nil {
		return "", err
	}
	stop, err := start(ctx, filepath.Join(bin, "containerd"), config, socket)
	if err != nil {
		return "", err
	}
	err = do(ctx, filepath.Join(bin, "ctr"), "--address", socket, "--namespace", "k8s.io", "images", "import", "--all-platforms", "--no-unpack", archive)
	return root, errors.Join(err, stop())
}

const preloadConfig = `version = 3
root = %q
state = %q
disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri",
  "io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt"]
[grpc]
address = %q
`

// startContainerd returns when containerd accepts connections. stop shuts containerd down cleanly, so that its database is
// complete.
func startContainerd(ctx context.Context, program, config, socket string) (stop func() error, err error) {
	cmd := exec.CommandContext(ctx, program, "--config", config)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.EndWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start containerd: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		if err := <-ended; err != nil {
			return fmt.Errorf("stop containerd: %w:\n%s", err, output.Tail(said.String()))
		}
		return nil
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), stop())
		case err := <-ended:
			return nil, fmt.Errorf("start containerd: exited: %w:\n%s", err, output.Tail(said.String()))
		case <-tick.C:
			if conn, err := net.Dial("unix", socket); err == nil {
				return stop, conn.Close()
			}
		}
	}
}
