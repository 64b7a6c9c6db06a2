package manifests

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// helm is the Helm that renders a chart on this machine where the user has none. It is compiled in a module of its own: to link it would bring more than
// a hundred modules.
var helm = nodeimage.Command{
	Name: "helm", Module: "helm.sh/helm/v4", Version: "v4.3.1", Package: "helm.sh/helm/v4/cmd/helm",
	LDFlags: "-X helm.sh/helm/v4/internal/version.version=v4.3.1",
}

// Helm finds and runs Helm. The zero value uses the user's own, as it is in PATH, or else compiles one, which is kept.
type Helm struct {
	Out io.Writer // is told of a compilation; nil: nobody is
	// Kubernetes is the version of the cluster that a chart is rendered for; empty: the one that a test has by default.
	Kubernetes string
	// Find, Compile and Run replace what finds, compiles and runs it.
	Find    func() (path string, err error)
	Compile func(context.Context) (path string, err error)
	Run     func(ctx context.Context, path string, args ...string) (stdout, stderr []byte, err error)
}

// ErrNoHelm means that a chart cannot be rendered on this machine.
var ErrNoHelm = errors.New("there is no helm in PATH, and none can be made")

// program is the path of Helm.
func (h Helm) program(ctx context.Context) (string, error) {
	find := h.Find
	if find == nil {
		find = func() (string, error) { return exec.LookPath("helm") }
	}
	if path, err := find(); err == nil {
		return path, nil
	}
	compile := h.Compile
	if compile == nil {
		compile = func(ctx context.Context) (string, error) {
			out := h.Out
			if out == nil {
				out = io.Discard
			}
			return nodeimage.CompileHere(ctx, helm, nodeimage.Options{Progress: nodeimage.ProgressTo(out)})
		}
	}
	path, err := compile(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: install Helm, or render the chart with 'helm template' elsewhere and use -f: %w", ErrNoHelm, err)
	}
	return path, nil
}

// render renders a chart for a namespace, as a first installation of it on a cluster that has the definitions among some manifests.
func (h Helm) render(ctx context.Context, c app.Chart, namespace string, there []app.Manifest) ([]app.Manifest, error) {
	if err := check(c); err != nil {
		return nil, err
	}
	path, err := h.program(ctx)
	if err != nil {
		return nil, err
	}
	chart, err := filepath.Abs(c.Path) // a relative name may also be that of a chart in a repository
	if err != nil {
		return nil, err
	}
	made, err := digest(c, namespace)
	if err != nil {
		return nil, err
	}
	args := []string{"template", cmp.Or(c.Release, releaseOf(chart)), chart, "--include-crds", "--namespace", cmp.Or(namespace, app.DefaultNamespace)}
	for _, file := range c.Values {
		args = append(args, "--values", file)
	}
	args = append(args, h.capabilities(there)...)
	run := h.Run
	if run == nil {
		run = runHelm
	}
	rendered, said, err := run(ctx, path, args...)
	if err != nil {
		return nil, fmt.Errorf("render chart %s: %s", c.Path, words(string(said), err))
	}
	manifests, err := documents(rendered, c.Path)
	if err != nil {
		return nil, fmt.Errorf("render chart %s: %w", c.Path, err)
	}
	if len(manifests) == 0 {
		return nil, fmt.Errorf("render chart %s: with these values it has no objects", c.Path)
	}
	own := slices.DeleteFunc(slices.Clone(manifests), func(m app.Manifest) bool { // not in its folders for definitions, or told already
		d := m.Defines()
		return d.Kind == "" || strings.Contains(strings.TrimPrefix(m.Source, c.Path), "/templates/") || slices.ContainsFunc(there, func(o app.Manifest) bool { return o.Defines() == d })
	})
	if len(own) > 0 { // an installation creates them before it renders the rest
		return h.render(ctx, c, namespace, slices.Concat(there, own))
	}
	for i := range manifests {
		manifests[i].Chart = made
	}
	return manifests, nil
}

func runHelm(ctx context.Context, path string, args ...string) (stdout, stderr []byte, err error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out.Bytes(), said.Bytes(), err
}

// words is what Helm says of an error, without what it says of itself.
func words(said string, err error) string {
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "WARNING:"), strings.HasPrefix(line, "level="), strings.HasPrefix(line, "Use --debug flag"),
			strings.Contains(line, ".go:") && strings.Contains(line, "warning:"): // which may show values
			continue
		}
		lines = append(lines, strings.TrimPrefix(line, "Error: "))
	}
	if len(lines) == 0 {
		return err.Error()
	}
	return strings.Join(lines, "\n  ")
}

var (
	version    = regexp.MustCompile(`-v?[0-9]+\.[0-9]+\.[0-9]+.*$`)
	notRelease = regexp.MustCompile(`[^a-z0-9-]+`)
)

// longestRelease is as long as Helm takes names of releases.
const longestRelease = 53

// releaseOf is the name of a release of a chart: that of its folder or archive, without a version.
func releaseOf(chart string) string {
	name := strings.ToLower(filepath.Base(chart))
	for _, suffix := range []string{".tgz", ".tar.gz"} {
		name = strings.TrimSuffix(name, suffix)
	}
	name = notRelease.ReplaceAllString(version.ReplaceAllString(name, ""), "-")
	return cmp.Or(strings.Trim(name[:min(len(name), longestRelease)], "-"), "release")
}

// check returns an error if files of a chart do not exist: Helm would look for them in repositories.
func check(c app.Chart) error {
	if c.Release != "" && (len(validation.IsDNS1123Subdomain(c.Release)) > 0 || len(c.Release) > longestRelease) { // it would be a flag
		return fmt.Errorf("release %q of chart %s: want a name of at most %d lower-case letters, digits, dashes and dots", c.Release, c.Path, longestRelease)
	}
	if strings.Contains(c.Path, "://") {
		return fmt.Errorf("chart %s: want a folder or an archive: get it with 'helm pull' first", c.Path)
	}
	if _, err := os.Stat(c.Path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("chart: there is no file or folder %s", c.Path)
	}
	for _, file := range c.Values {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && !strings.Contains(file, "://") {
			return fmt.Errorf("values of chart %s: there is no file %s", c.Path, file)
		}
	}
	return nil
}
