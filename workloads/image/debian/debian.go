// Package debian makes container images of Debian's packages and of Go programs: of applications that nobody here wrote, for tests on a machine that
// reaches no container registry.
//
// It needs apt-get and dpkg-deb on this machine. It configures no package: what a package's scripts would do, a recipe says itself.
package debian

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/workloads/image/gomodule"
)

// Recipe is what is in an image.
type Recipe struct {
	// Name is that of the image, with its tag.
	Name string `json:"name"`
	// Packages are installed with all that they depend on, except what Without names.
	Packages []string `json:"packages,omitempty"`
	// Program is a Go package, relative to the recipe, whose executable is put into the image under its own name.
	Program string `json:"program,omitempty"`
	// Module is the same for a command of a Go module that is not this one.
	Module  *gomodule.Program `json:"module,omitempty"`
	Without []string          `json:"without,omitempty"`
	// Files are further files by their path, with their content, and Folders further folders.
	Files   map[string]string `json:"files,omitempty"`
	Folders []string          `json:"folders,omitempty"`
	// Entrypoint, User and StopSignal are those of the image's configuration.
	Entrypoint []string `json:"entrypoint"`
	User       string   `json:"user,omitempty"`
	StopSignal string   `json:"stopSignal,omitempty"`
}

// Read reads a recipe from a file.
func Read(path string) (Recipe, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Recipe{}, err
	}
	var r Recipe
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	if r.Name == "" || len(r.Packages) == 0 && r.Program == "" && r.Module == nil || len(r.Entrypoint) == 0 {
		return r, fmt.Errorf("read %s: want a name, packages, a program or a module, and an entrypoint", path)
	}
	if r.Module != nil {
		if err := r.Module.Validate(); err != nil {
			return r, fmt.Errorf("read %s: %w", path, err)
		}
	}
	if r.Program != "" {
		r.Program = filepath.Join(filepath.Dir(path), r.Program)
	}
	return r, nil
}

// Build writes the image of a recipe into an archive in the format of `docker save`.
func Build(ctx context.Context, r Recipe, archive string) (err error) {
	archive, err = filepath.Abs(archive)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(archive), ".image-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	root := filepath.Join(work, "root")
	if len(r.Packages) > 0 {
		if err := unpack(ctx, r, work, root); err != nil {
			return fmt.Errorf("build image %s: %w", r.Name, err)
		}
	}
	if r.Program != "" {
		if err := compile(ctx, r, root); err != nil {
			return fmt.Errorf("build image %s: %w", r.Name, err)
		}
	}
	if r.Module != nil {
		if _, err := r.Module.Build(ctx, work, root); err != nil {
			return fmt.Errorf("build image %s: %w", r.Name, err)
		}
	}
	if err := add(r, root); err != nil {
		return fmt.Errorf("build image %s: %w", r.Name, err)
	}
	if err := pack(r, work, root, archive); err != nil {
		return fmt.Errorf("build image %s: %w", r.Name, err)
	}
	return nil
}

// unpack downloads the packages and unpacks them below root.
func unpack(ctx context.Context, r Recipe, work, root string) error {
	list, err := run(ctx, work, "apt-cache", append([]string{"depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts",
		"--no-breaks", "--no-replaces", "--no-enhances"}, r.Packages...)...)
	if err != nil {
		return err
	}
	var names []string
	for line := range strings.Lines(list) {
		if name := strings.TrimSpace(line); !strings.HasPrefix(line, " ") && !strings.ContainsAny(name, "<>:|") && !slices.Contains(r.Without, name) {
			names = append(names, name)
		}
	}
	if _, err := run(ctx, work, "apt-get", append([]string{"--quiet", "-o", "APT::Sandbox::User=root", "download"}, names...)...); err != nil {
		return err
	}
	packages, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil || len(packages) == 0 {
		return errors.Join(err, errors.New("apt-get downloaded no package"))
	}
	slices.Sort(packages)
	for _, p := range packages {
		if _, err := run(ctx, work, "dpkg-deb", "--extract", p, root); err != nil {
			return err
		}
	}
	return nil
}

// compile compiles the recipe's program, which links with nothing.
func compile(ctx context.Context, r Recipe, root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(root, filepath.Base(r.Program)), ".")
	cmd.Dir, cmd.Env = r.Program, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w: %s", r.Program, err, out)
	}
	return nil
}

func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C.UTF-8")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// add writes the recipe's own files and folders.
func add(r Recipe, root string) error {
	for _, folder := range append([]string{"/tmp", "/run"}, r.Folders...) {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	for path, text := range r.Files {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.RemoveAll(file); err != nil { // it may be a link of a package
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pack makes an image of a folder. Its files belong to root, as in the packages.
func pack(r Recipe, work, root, archive string) error {
	file := filepath.Join(work, "layer.tar")
	if err := tarOf(root, file); err != nil {
		return err
	}
	layer, err := tarball.LayerFromFile(file)
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{
		Entrypoint: r.Entrypoint, User: r.User, StopSignal: r.StopSignal, WorkingDir: "/",
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	tag, err := name.NewTag(r.Name)
	if err != nil {
		return err
	}
	part := archive + ".part"
	if err := tarball.WriteToFile(part, tag, image); err != nil {
		return err
	}
	return os.Rename(part, archive)
}

// tarOf packs a folder. Documentation is left out.
func tarOf(root, file string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, path)
		if err != nil || inside == "." {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{"usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"}, inside) {
			return filepath.SkipDir
		}
		return tarFile(w, path, inside, entry)
	})
	return errors.Join(err, w.Close())
}

func tarFile(w *tar.Writer, path, inside string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name, header.Uid, header.Gid, header.Uname, header.Gname = filepath.ToSlash(inside), 0, 0, "", ""
	if inside == "tmp" {
		header.Mode = 0o1777
	}
	if err := w.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	content, err := os.Open(path)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // opened for reading only
	_, err = io.Copy(w, content)
	return err
}
