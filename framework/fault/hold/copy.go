package hold

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writeCopy replaces the copy of the holder atomically.
func writeCopy(path string, who Holder) error {
	if path == "" {
		return nil
	}
	text, err := json.Marshal(who)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	fresh := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	if err == nil {
		err = os.WriteFile(fresh, text, 0o644)
	}
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return fmt.Errorf("write the copy of the cluster's Lease: %w", err)
	}
	return nil
}

// readCopy reads the holder from a file. there is false if the file is missing or unreadable.
func readCopy(path string) (who Holder, there bool) {
	if path == "" {
		return who, false
	}
	text, err := os.ReadFile(path)
	return who, err == nil && json.Unmarshal(text, &who) == nil
}

func removeCopy(path string) error {
	if path == "" {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the copy of the cluster's Lease: %w", err)
	}
	return nil
}
