package main

import (
	"context"
	"errors"
	"fmt"
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
)

// recipe is what is in an image. No package is configured: what a package's scripts would do, a recipe names itself.
type recipe struct {
	// Name is that of the image, with its tag.
	Name string `json:"name"`
	// Packages are installed with all that they depend on, except what Without names.
	Packages []string `json:"packages,omitempty"`
	// Program is a Go package, relative to the recipe, whose executable is put into the image under its own name.
	Program string   `json:"program,omitempty"`
	Without []string `json:"without,omitempty"`
	// Files are further files by their path, with their content, and Folders further folders.
	Files   map[string]string `json:"files,omitempty"`
	Folders []string          `json:"folders,omitempty"`
	// Entrypoint, User and StopSignal are those of the image's configuration.
	Entrypoint []string `json:"entrypoint"`
	User       string   `json:"user,omitempty"`
	StopSignal string   `json:"stopSignal,omitempty"`
}

// readRecipe reads a recipe from a file.
func readRecipe(path string) (recipe, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return recipe{}, err
	}
	var r recipe
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	if r.Name == "" || len(r.Packages) == 0 && r.Program == "" || len(r.Entrypoint) == 0 {
		return r, fmt.Errorf("read %s: want a name, packages or a program, and an entrypoint", path)
	}
	if r.Program != "" {
		r.Program = filepath.Join(filepath.Dir(path), r.Program)
	}
	return r, nil
}

// buildImage writes the image of a recipe into an archive in the format of `docker save`.
func buildImage(ctx context.Context, r recipe, archive string) (err error) {
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
		err = unpack(ctx, r, work, root)
	}
	if err == nil && r.Program != "" {
		_, err = run(ctx, r.Program, "go", "build", "-trimpath", "-o", filepath.Join(root, filepath.Base(r.Program)), ".")
	}
	if err == nil {
		err = add(r, root)
	}
	if err == nil {
		err = pack(ctx, r, work, root, archive)
	}
	if err != nil {
		return fmt.Errorf("build image %s: %w", r.Name, err)
	}
	return nil
}

// unpack downloads the packages and unpacks them below root.
func unpack(ctx context.Context, r recipe, work, root string) error {
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

func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C.UTF-8", "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// add writes the recipe's own files and folders.
func add(r recipe, root string) error {
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

// pack makes an image of a folder, without documentation. Its files belong to root, as in the packages.
func pack(ctx context.Context, r recipe, work, root, archive string) error {
	file := filepath.Join(work, "layer.tar")
	if err := os.Chmod(filepath.Join(root, "tmp"), os.ModeSticky|0o777); err != nil {
		return err
	}
	args := []string{"--create", "--file=" + file, "--directory=" + root, "--owner=0", "--group=0", "--numeric-owner"}
	for _, folder := range []string{"doc", "man", "locale", "info"} {
		args = append(args, "--exclude=./usr/share/"+folder)
	}
	if _, err := run(ctx, work, "tar", append(args, ".")...); err != nil {
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
