package reports

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Replace writes a file under another name and renames it, so that neither a reader nor a full disk sees half a file.
func Replace[T any](name string, content T, write func(io.Writer, T) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	out := bufio.NewWriter(file)
	err = errors.Join(write(out, content), out.Flush(), file.Chmod(0o644), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
