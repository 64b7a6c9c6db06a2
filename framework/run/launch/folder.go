// Package launch turns the options of a run into its settings: provider, seed, folder and cluster.
package launch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// claimFolder names a run after the time, and creates its folder. If two runs begin in the same second, the name of the later run has a
// number.
func claimFolder(artifacts string, now time.Time) (id string, err error) {
	if err := os.MkdirAll(artifacts, 0o755); err != nil {
		return "", err
	}
	moment := now.UTC().Format("20060102-150405")
	for n := 2; ; n++ {
		err := os.Mkdir(filepath.Join(artifacts, cmp.Or(id, moment)), 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return cmp.Or(id, moment), err
		}
		id = fmt.Sprintf("%s-%d", moment, n)
	}
}

// NewFolder makes the folder of a run that begins now, and lets last-attempt lead to it.
func NewFolder(artifacts string) (id, dir string, err error) {
	if id, err = claimFolder(artifacts, time.Now()); err != nil {
		return "", "", fmt.Errorf("make a folder for the run: %w", err)
	}
	return id, filepath.Join(artifacts, id), runfolder.PointLastAttempt(artifacts, id)
}

// Seed is a seed, or a new one in place of 0. It has 53 bits, as JSON's numbers do.
func Seed(given uint64) uint64 { return cmp.Or(given, rand.Uint64()>>11|1) }

// Interrupted finds an interrupted run: the ID of a run below artifacts, or the path of its folder.
func Interrupted(artifacts, name string) (dir string, file runfolder.File, err error) {
	dir = filepath.Join(artifacts, name)
	file, err = runfolder.ReadFile(dir)
	if err != nil {
		var other error
		if file, other = runfolder.ReadFile(name); other != nil {
			return "", file, errors.Join(err, other)
		}
		dir = name
	}
	dir, err = filepath.EvalSymlinks(dir) // such as artifacts/last-attempt
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return dir, file, err
}
