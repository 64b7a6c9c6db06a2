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
