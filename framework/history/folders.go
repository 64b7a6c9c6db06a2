package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The names of two links to runs' folders, among the runs.
const (
	// LatestName leads to the last run of which a scenario was judged: there is something to look at.
	LatestName = "latest"
	// LastAttemptName leads to the run that was begun last, whatever came of it.
	LastAttemptName = "last-attempt"
)

// PointLatest makes artifacts/latest point at artifacts/<runID>, in one step. Something else of that name is an error
// and stays.
func PointLatest(artifacts, runID string) error { return point(artifacts, LatestName, runID) }

// PointLastAttempt is PointLatest for artifacts/last-attempt. It is an error, too, if there is something else than a link where
// artifacts/latest will have to be: better now than when the run has something to keep.
func PointLastAttempt(artifacts, runID string) error {
	if err := spared(filepath.Join(artifacts, LatestName)); err != nil {
		return err
	}
	return point(artifacts, LastAttemptName, runID)
}

// spared is an error if something other than a link has the name.
func spared(link string) error {
	info, err := os.Lstat(link)
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("point at the latest run: %s is no link: move it away", link)
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
	fresh := link + "." + runID // a name of our own, since runs may go on side by side
	if err := os.Symlink(runID, fresh); err != nil {
		return fmt.Errorf("point at the latest run: %w", err)
	}
	if err := os.Rename(fresh, link); err != nil {
		return errors.Join(fmt.Errorf("point at the latest run: %w", err), os.Remove(fresh))
	}
	return nil
}

// Records lists the folders below a run's folder (which may be a link) that hold a record, with slashes, sorted: what
// can be judged even of a run that was killed. The run's folder itself is ".".
func Records(dir string) ([]string, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("look for records in %q: there is no folder of that name; give a run's, such as artifacts/latest", dir)
	}
	var found []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() == EventsFile {
			found = append(found, filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for records in %s: %w", dir, err)
	}
	return found, nil
}
