package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CacheDir is the folder for files that holdfast can recreate: $HOLDFAST_CACHE if set, otherwise "holdfast" in the user's cache
// folder. The path is absolute. The folder may not exist yet.
func CacheDir() (string, error) {
	dir := os.Getenv("HOLDFAST_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a cache folder: %w; set HOLDFAST_CACHE to a writable folder", err)
		}
		dir = filepath.Join(user, "holdfast")
	}
	return filepath.Abs(dir)
}

// fingerprint hashes everything that the result of a proof depends on, so that the result is reused only while it is valid.
func fingerprint(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// proven reports whether an engine with this fingerprint has worked before.
func proven(dir, name, mark string) bool {
	was, err := os.ReadFile(proofFile(dir, name))
	return err == nil && string(was) == mark
}

// remember stores the fingerprint of an engine that works.
func remember(dir, name, mark string) error {
	return writeFile(proofFile(dir, name), []byte(mark))
}

func proofFile(dir, name string) string { return filepath.Join(dir, name+".proven") }

// writeFile writes a file atomically, because two runs may start at the same moment.
func writeFile(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // no longer exists after the rename
	_, err = temp.Write(content)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
