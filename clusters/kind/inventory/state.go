package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// StateDir is the local folder with the files of the named cluster. It is deleted with the cluster.
func StateDir(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	return stateDir(name)
}

func stateDir(name string) (string, error) {
	cache, err := engine.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "clusters", name), nil
}

// Files that mark a cluster.
const (
	keptFile = "kept" // it must outlive its maker
	warmFile = "warm" // it may be used in place of a new one
)

// Keep marks a cluster so that it may outlive the process that created it.
func Keep(name string) error {
	if err := mark(name, keptFile); err != nil {
		return fmt.Errorf("keep cluster %s: %w", name, err)
	}
	return nil
}

// KeepWarm marks a cluster so that it may be used in place of a new one.
func KeepWarm(name string) error {
	if err := mark(name, warmFile); err != nil {
		return fmt.Errorf("keep cluster %s warm: %w", name, err)
	}
	return nil
}

func mark(name, file string) error {
	dir, err := StateDir(name)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, file), nil, 0o644)
	}
	return err
}

// Spoil takes back KeepWarm, and Keep with it: the cluster is no longer as it was made.
func Spoil(name string) error {
	dir, err := StateDir(name)
	if err != nil {
		return err
	}
	for _, file := range []string{warmFile, keptFile} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("give up cluster %s: %w", name, err)
		}
	}
	return nil
}

// Warm are the names of the clusters that are kept warm, sorted. The list may name a cluster that is gone.
func Warm() (names []string, err error) {
	dir, err := stateDir("")
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", warmFile))
	for _, path := range found {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	return names, err
}

// IsWarm reports whether a cluster is kept warm. It fails if that cannot be known.
func IsWarm(name string) (bool, error) {
	dir, err := StateDir(name)
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, warmFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find out whether cluster %s is kept warm: %w", name, err)
	}
	return true, nil
}

// Forget removes the files of a cluster that is gone. Its marks would otherwise be those of the next cluster of its name.
func Forget(name string) error {
	if wrong := CheckName(name); wrong != nil {
		return nil //nolint:nilerr // no cluster has such a name, and "" or ".." would be another folder than that of a cluster
	}
	dir, err := stateDir(name)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the files of cluster %s: %w", name, err)
	}
	return nil
}

// removeStates removes the kubeconfigs and other files of all clusters except those that are left.
func removeStates(left []string) error {
	dir, err := stateDir("")
	if err != nil {
		return err
	}
	if len(left) == 0 {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove the kubeconfigs: %w", err)
		}
		return nil
	}
	states, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the kubeconfigs: %w", err)
	}
	for _, state := range states {
		if slices.Contains(left, state.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, state.Name())); err != nil {
			return fmt.Errorf("remove the kubeconfig of %s: %w", state.Name(), err)
		}
	}
	return nil
}
