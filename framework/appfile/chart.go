package appfile

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/holdfast-ha/holdfast/workloads/chart"
)

// Chart is a Helm chart. A nil Chart is none.
type Chart struct {
	Path    string   `yaml:"path"`    // a folder, or an archive
	Values  []string `yaml:"values"`  // files or URLs
	Release string   `yaml:"release"` // default: the name of the folder or the archive
}

func (c *Chart) check() error {
	if c != nil && c.Path == "" {
		return errors.New("app.chart: it has no path")
	}
	return nil
}

// under makes the paths of files below a folder.
func (c *Chart) under(folder string) {
	if c == nil {
		return
	}
	if !filepath.IsAbs(c.Path) {
		c.Path = filepath.Join(folder, c.Path)
	}
	for i, file := range c.Values {
		if !filepath.IsAbs(file) && !strings.Contains(file, "://") {
			c.Values[i] = filepath.Join(folder, file)
		}
	}
}

func (c *Chart) source() chart.Chart {
	if c == nil {
		return chart.Chart{}
	}
	return chart.Chart{Path: c.Path, Values: c.Values, Release: c.Release}
}
