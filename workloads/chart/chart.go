package chart

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Chart is a Helm chart, and what its user says of it.
type Chart struct {
	Path      string   // its folder, or its archive
	Values    []string // files or URLs with values, the last of which counts most
	Release   string   // the name under which it is installed; empty: the chart's own
	Namespace string   // in which it is installed
}

// Check returns an error if the chart or a file with values is not there, or if there are values without a chart.
func (c Chart) Check() error {
	if c.Path == "" {
		if len(c.Values) > 0 || c.Release != "" {
			return errors.New("values or a release without a chart: name the folder or the archive of the chart, too")
		}
		return nil
	}
	info, err := os.Stat(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no chart %s: name its folder, or the archive that 'helm package' or 'helm pull' writes", c.Path)
	case err != nil:
		return fmt.Errorf("read chart: %w", err)
	}
	if info.IsDir() {
		if _, err := os.Stat(filepath.Join(c.Path, "Chart.yaml")); err != nil {
			return fmt.Errorf("folder %s is no chart: it has no Chart.yaml", c.Path)
		}
	}
	for _, file := range c.Values {
		if _, err := os.Stat(file); err != nil && !strings.Contains(file, "://") {
			return fmt.Errorf("read the values of chart %s: %w", c.Path, err)
		}
	}
	return nil
}

// archiveVersion is the end of the name of an archive: shop-1.2.3.tgz.
var archiveVersion = regexp.MustCompile(`(-v?[0-9]+\.[0-9]+\.[0-9]+[^/]*)?\.(tgz|tar\.gz)$`)

// release is the name under which the chart is installed.
func (c Chart) release() string {
	path, err := filepath.Abs(c.Path) // the chart may be "."
	if err != nil {
		path = c.Path
	}
	return cmp.Or(c.Release, archiveVersion.ReplaceAllString(filepath.Base(path), ""))
}

// Render returns the objects of a chart as documents of YAML, with its CustomResourceDefinitions and hooks. helm is the path of the helm
// program. The error has what helm says, and the command that says it again.
func Render(ctx context.Context, c Chart, helm string) ([]byte, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	args := []string{"template", "--include-crds", "--namespace", c.Namespace}
	for _, file := range c.Values {
		args = append(args, "--values", file)
	}
	cmd := exec.CommandContext(ctx, helm, append(args, "--", c.release(), c.Path)...)
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &told
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("chart %s does not render: %s\nmend the chart or its values; this shows the same: %s",
			c.Path, cmp.Or(complaint(told.String()), err.Error()), strings.Join(cmd.Args, " "))
	}
	return out.Bytes(), nil
}

// complaint is what helm says of an error, without warnings before it and without its hint at a flag that holdfast does not have.
func complaint(told string) string {
	const mark = "Error: "
	if at := strings.Index("\n"+told, "\n"+mark); at >= 0 {
		told = told[at+len(mark):]
	}
	told, _, _ = strings.Cut(told, "\n\nUse --debug flag")
	return strings.TrimSpace(told)
}
