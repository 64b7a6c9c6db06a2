package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/cli-runtime/pkg/resource"
)

// broken names the first document of each file or folder that is no YAML, with its line in the file. cli-runtime counts lines from the
// document's beginning, and does not say which document it is.
func broken(files []string) error {
	var errs []error
	for _, name := range files {
		_ = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && (path == name || slices.Contains(resource.FileExtensions, filepath.Ext(path))) {
				errs = append(errs, brokenFile(path))
			}
			return nil // cli-runtime says what cannot be read
		})
	}
	return errors.Join(errs...)
}

func brokenFile(path string) error {
	file, err := os.Open(path) //nolint:gosec // a file that the user names
	if err != nil {
		return nil // cli-runtime says so
	}
	defer file.Close() //nolint:errcheck // opened for reading only
	documents := yaml.NewDecoder(file)
	for n := 1; ; n++ {
		var document yaml.Node
		switch err := documents.Decode(&document); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s, document %d: %w", path, n, err)
		}
	}
}
