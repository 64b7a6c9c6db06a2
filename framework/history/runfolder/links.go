package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Names of symbolic links to run folders, next to the run folders.
const (
	// LatestName links to the last run with at least one judged scenario.
	LatestName = "latest"
	// LastAttemptName links to the run that was started last, whatever its result.
	LastAttemptName = "last-attempt"
)

// PointLatest makes artifacts/latest point at artifacts/<runID>, atomically. It returns an error if something other than a
// symbolic link has that name, and leaves it alone.
func PointLatest(artifacts, runID string) error { return point(artifacts, LatestName, runID) }

// PointLastAttempt is PointLatest for artifacts/last-attempt. It also returns an error if something other than a symbolic
// link is at artifacts/latest, because PointLatest would fail later, after the run.
func PointLastAttempt(artifacts, runID string) error {
	if err := spared(filepath.Join(artifacts, LatestName)); err != nil {
		return err
	}
	return point(artifacts, LastAttemptName, runID)
}

// spared returns an error if something other than a symbolic link has the name.
func spared(link string) error {
	info, err := os.Lstat(link)
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("point at the latest run: %s is not a symbolic link: move it away", link)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("point at the latest run: %w", err)
	}
	return nil
}

func point(artifacts, name, runID string) error {
	link := filepath.Join(artifacts, name)
	if err := spared(link); err != nil {
		return err
	}
	fresh := link + "." + strings.ReplaceAll(runID, "/", ".") // a unique name, because several runs may be in progress
	if err := os.Symlink(runID, fresh); err != nil {
		return fmt.Errorf("point at the latest run: %w", err)
	}
	if err := os.Rename(fresh, link); err != nil {
		return errors.Join(fmt.Errorf("point at the latest run: %w", err), os.Remove(fresh))
	}
	return nil
}

// Records lists the folders with a record below a run's folder or a folder of runs (which may be a symbolic link), relative to it, with
// slashes, sorted. It works for a killed run, too. The run's folder itself is ".". Records that were set aside are left out.
func Records(dir string) ([]string, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		what := "no such folder"
		if err == nil {
			what = "it is a file"
		}
		return nil, fmt.Errorf("look for records in %q: %s: give a run's folder, such as artifacts/latest", dir, what)
	}
	var found []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), SetAsidePrefix) {
			return fs.SkipDir
		}
		if err == nil && !entry.IsDir() && entry.Name() == history.EventsFile {
			found = append(found, filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for records in %s: %w", dir, err)
	}
	return found, nil
}

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
