package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// digest is different when a file of the chart or of its values is, and the same when what Helm renders differs by chance: a template may
// make a password or a certificate. Hidden folders are left out, and folders named artifacts, into which each run writes.
func digest(c app.Chart, namespace string) (string, error) {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q\n", []string{c.Release, namespace})
	root, err := filepath.EvalSymlinks(c.Path)
	if err != nil {
		return "", fmt.Errorf("read chart: %w", err)
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "artifacts"):
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		return add(h, path)
	})
	if err != nil {
		return "", fmt.Errorf("read chart %s: %w", c.Path, err)
	}
	for _, file := range c.Values {
		if strings.Contains(file, "://") {
			_, _ = fmt.Fprintf(h, "%q\n", file)
			continue
		}
		if err := add(h, file); err != nil {
			return "", fmt.Errorf("read the values of chart %s: %w", c.Path, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// add adds a file with its name and length, so that no two lists of files look the same.
func add(h io.Writer, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(h, "%q %d\n%s", path, len(text), text)
	return err
}
