package gomodule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Copies are files of a module that an application needs beside its own, such as the CustomResourceDefinitions of an API: they are taken
// from the module at the version that is asked for, and kept out of the repository.
type Copies struct {
	Module
	Files []string `json:"files"` // in the module
	Into  string   `json:"into"`  // a folder; relative to the file that asks for them
}

// ReadCopies reads what is asked for from a file.
func ReadCopies(path string) (c Copies, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", path, err)
	}
	if c.Path == "" || c.Version == "" || len(c.Files) == 0 || !filepath.IsLocal(c.Into) || filepath.Clean(c.Into) == "." {
		return c, fmt.Errorf("read %s: want a module, a version, files, and a folder beside this file into which they go", path)
	}
	for _, file := range c.Files {
		if !filepath.IsLocal(file) {
			return c, fmt.Errorf("read %s: file %q is not in the module", path, file)
		}
	}
	c.Into = filepath.Join(filepath.Dir(path), c.Into)
	return c, nil
}

// Make makes the folder with the files, and nothing else in it.
func (c Copies) Make(ctx context.Context) error {
	from, err := c.Download(ctx)
	if err != nil {
		return err
	}
	part := strings.TrimSuffix(c.Into, string(filepath.Separator)) + ".part"
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(part, 0o755)); err != nil {
		return err
	}
	for _, file := range c.Files {
		text, err := os.ReadFile(filepath.Join(from, file))
		if err != nil {
			return fmt.Errorf("copy from %s: %w", c.Module, err)
		}
		if err := os.WriteFile(filepath.Join(part, filepath.Base(file)), text, 0o644); err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(c.Into), os.Rename(part, c.Into))
}
