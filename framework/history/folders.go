package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LatestName is the name of the link to the newest run's folder, among the runs.
const LatestName = "latest"

// PointLatest makes artifacts/latest point at artifacts/<runID>, in one step. Something else of that name is an error
// and stays.
func PointLatest(artifacts, runID string) error {
	link := filepath.Join(artifacts, LatestName)
	info, err := os.Lstat(link)
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("point at the latest run: %s is no link: move it away", link)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("point at the latest run: %w", err)
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
