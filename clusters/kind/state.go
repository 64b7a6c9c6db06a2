package kind

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// StateDir is the local folder with the files of the named cluster. It is deleted with the cluster.
func StateDir(name string) (string, error) {
	if err := checkName(name); err != nil {
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

// keptFile marks a cluster that must outlive its maker.
const keptFile = "kept"

// markKept marks a cluster so that it may outlive the process that created it.
func markKept(name string) error {
	dir, err := StateDir(name)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, keptFile), nil, 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep cluster %s: %w", name, err)
	}
	return nil
}

// forget removes the files of a cluster that is gone. Its marks would otherwise be those of the next cluster of its name.
func forget(name string) error {
	if wrong := checkName(name); wrong != nil {
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
