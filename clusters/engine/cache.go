package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CacheDir is the folder for what holdfast may make again: the one that HOLDFAST_CACHE names, else holdfast in the
// user's cache folder. It is an absolute path and need not exist yet.
func CacheDir() (string, error) {
	dir := os.Getenv("HOLDFAST_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a cache folder: %w; set HOLDFAST_CACHE to a folder that can be written", err)
		}
		dir = filepath.Join(user, "holdfast")
	}
	return filepath.Abs(dir)
}

// fingerprint names everything that a proof depends on, so that the proof is used again only where it still holds.
func fingerprint(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// proven says whether an engine with this fingerprint was seen to work before.
func proven(dir, name, mark string) bool {
	was, err := os.ReadFile(proofFile(dir, name))
	return err == nil && string(was) == mark
}

// remember writes the fingerprint of an engine that was seen to work.
func remember(dir, name, mark string) error {
	return writeFile(proofFile(dir, name), []byte(mark))
}

func proofFile(dir, name string) string { return filepath.Join(dir, name+".proven") }

// writeFile writes a whole file or none: two runs may start at the same moment.
func writeFile(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // it is gone once it was renamed
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
