package nodeimage

import (
	"archive/tar"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// Release is the Kubernetes of one node image, extracted from the image: what kubeadm needs to upgrade the nodes of another
// version to this one.
type Release struct {
	Ref
	// Kubeadm, Kubelet and Kubectl are paths of the programs.
	Kubeadm, Kubelet, Kubectl string
	// Images are those that kubeadm wants for this version.
	Images []ReleaseImage
}

// ReleaseImage is a control plane image, in an archive that containerd can import.
type ReleaseImage struct {
	Ref    string // for example "registry.example/kube-apiserver:v1.37.0"
	Digest string // of its manifest
	Path   string
}

//go:embed release.sh
var releaseScript string

// releaseWithin limits the extraction. Measured: 4 s on 2 cores, and ten times as much on a busy machine.
const releaseWithin = 5 * time.Minute

// GetRelease gets the node image of a version as Ensure does, and extracts what an upgrade needs. The result is kept in the
// cache folder for the next call.
func GetRelease(ctx context.Context, e *engine.Engine, version string, o Options) (Release, error) {
	if err := o.fill(); err != nil {
		return Release{}, err
	}
	if err := e.Apply(); err != nil {
		return Release{}, err
	}
	ref, err := Ensure(ctx, e, version, o)
	if err != nil {
		return Release{}, err
	}
	return getRelease(ctx, e, ref, o)
}

func getRelease(ctx context.Context, e Engine, ref Ref, o Options) (r Release, err error) {
	c, err := openCache(ctx, o.CacheDir, func() { o.Progress(Step{Name: "waiting for a build to end", State: Started}) })
	if err != nil {
		return Release{}, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	name := "release-" + ref.Kubernetes + "-" + digest(ref.Digest, releaseScript)
	dir, _, err := c.Entry(name, func(keep, _ string) error { return takeOut(ctx, e, ref, keep) })
	if err != nil {
		return Release{}, fmt.Errorf("take Kubernetes %s out of %s: %w", ref.Kubernetes, ref.Image, err)
	}
	return readRelease(ref, dir)
}

// takeOut runs the script in a container of the image and unpacks the archive that the script prints.
func takeOut(ctx context.Context, e Engine, ref Ref, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, releaseWithin)
	defer cancel()
	cmd := e.Command(ctx, "run", "--rm", "--privileged", "--network", "none", "--entrypoint", "bash", ref.Image,
		"-c", releaseScript, "release", ref.Kubernetes)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	unpacked := unpackFlat(out, dir)
	_, _ = io.Copy(io.Discard, out) // an unreadable archive must not block its writer
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, output.Tail(said.String()))
	}
	return unpacked
}

// unpackFlat writes the regular files of an archive to dir, under the last element of their names.
func unpackFlat(archive io.Reader, dir string) error {
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		file, err := os.OpenFile(filepath.Join(dir, filepath.Base(header.Name)), os.O_CREATE|os.O_WRONLY|os.O_EXCL, header.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(file, r)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
}

// readRelease lists the contents of a folder that takeOut has filled.
func readRelease(ref Ref, dir string) (Release, error) {
	r := Release{Ref: ref, Kubeadm: filepath.Join(dir, "kubeadm"), Kubelet: filepath.Join(dir, "kubelet"), Kubectl: filepath.Join(dir, "kubectl")}
	list, err := os.ReadFile(filepath.Join(dir, "images"))
	if err != nil {
		return Release{}, err
	}
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "sha256:") {
			return Release{}, fmt.Errorf("read the images of %s: want file, reference and digest, not %q", ref.Image, strings.TrimSpace(line))
		}
		r.Images = append(r.Images, ReleaseImage{Path: filepath.Join(dir, fields[0]), Ref: fields[1], Digest: fields[2]})
	}
	for _, file := range append(paths(r.Images), r.Kubeadm, r.Kubelet, r.Kubectl) {
		if _, err := os.Stat(file); err != nil {
			return Release{}, fmt.Errorf("read what was taken out of %s: %w; run 'holdfast image clear-cache' and retry", ref.Image, err)
		}
	}
	return r, nil
}

func paths(images []ReleaseImage) (files []string) {
	for _, image := range images {
		files = append(files, image.Path)
	}
	return files
}
