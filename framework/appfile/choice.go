package appfile

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/apptest"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Choice is what a user says about a test: a file, or everything that would be in it, or a file and what adds to it.
type Choice struct {
	File      string // holdfast.yaml; empty: there is none
	Sources   app.Sources
	Namespace string
	URLs      []string
	Archives  []string
	Faults    []string // replace those of the file
}

// Find decides which file is read: the named one, or Name in this folder if there are no sources.
func (c *Choice) Find(named []string) error {
	flagged := len(c.Sources.Files) > 0 || c.Sources.Kustomize != ""
	switch {
	case len(named) == 1 && flagged:
		return fmt.Errorf("%s with -f or -k: the manifests are named in that file", named[0])
	case len(named) == 1:
		c.File = named[0]
	case !flagged:
		if _, err := os.Stat(Name); err != nil {
			return fmt.Errorf("no manifests: there is no %s here; name files or folders with -f, or a kustomization with -k", Name)
		}
		c.File = Name
	}
	return nil
}

// Test reads the file and the manifests.
func (c Choice) Test() (t apptest.Test, err error) {
	if c.File != "" {
		file, err := Read(c.File)
		if err != nil {
			return t, err
		}
		c.Sources, t.Faults = file.Sources(), file.Faults
		c.Namespace = cmp.Or(c.Namespace, file.App.Namespace)
		c.Archives = append(file.App.Images, c.Archives...)
		if t.Probes, err = file.ProbesOf(); err != nil {
			return t, err
		}
	}
	if len(c.Faults) > 0 {
		t.Faults = c.Faults
	}
	manifests, err := app.Read(c.Sources)
	if err != nil {
		return t, err
	}
	if t.App, err = app.New(manifests, c.Namespace); err != nil {
		return t, err
	}
	for _, archive := range c.Archives {
		path, err := filepath.Abs(archive)
		if err != nil {
			return t, err
		}
		if _, err := os.Stat(path); err != nil {
			return t, fmt.Errorf("image archive: %w", err)
		}
		t.App.Archives = append(t.App.Archives, path)
	}
	for _, url := range c.URLs {
		t.Probes = append(t.Probes, apptest.OfURL(url, len(t.Probes)))
	}
	return t, nil
}

// Words are the choice as arguments of `holdfast test`.
func (c Choice) Words() (words []string) {
	if c.File != "" {
		words = append(words, c.File)
	}
	add := func(flag string, values ...string) {
		for _, value := range values {
			if value != "" {
				words = append(words, flag, value)
			}
		}
	}
	add("-f", c.Sources.Files...)
	add("-k", c.Sources.Kustomize)
	add("-n", c.Namespace)
	add("--image", c.Archives...)
	add("--url", c.URLs...)
	add("--faults", strings.Join(c.Faults, ","))
	return words
}
