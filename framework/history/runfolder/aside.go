package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Aside is the name of a folder, not yet used, for records that are set aside.
func Aside(dir string) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s%d", SetAsidePrefix, n)
		_, err := os.Lstat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", fmt.Errorf("set old records aside: %w", err)
		}
	}
}

// SetAside moves the records and logs of scenarios into a folder that Aside has named.
func SetAside(dir, aside string, names []string) error {
	for _, scenario := range names {
		for _, from := range []string{"logs/" + scenario, scenario} { // a record without its logs is whole
			old, fresh := filepath.Join(dir, filepath.FromSlash(from)), filepath.Join(dir, aside, filepath.FromSlash(from))
			if !Exists(old) {
				continue
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(fresh), 0o755), os.Rename(old, fresh)); err != nil {
				return fmt.Errorf("set the old record of %s aside: %w", scenario, err)
			}
		}
	}
	return nil
}

// Exists reports whether a file or folder is there.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
