package nodeimage

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is the content of one image layer, by path. Paths are relative and use the real directories of a merged-/usr system
// (usr/sbin, not the symlink sbin). Packing a tree is deterministic.
type Tree map[string]item

// item is one file, link or folder of a tree.
type item struct {
	mode   fs.FileMode // with fs.ModeDir for a folder, fs.ModeSymlink for a link
	from   string      // the file with the content; or
	text   []byte      // the content itself
	target string      // of a link
}

// Add adds a file with a text.
func (t Tree) Add(name, text string) { t[name] = item{mode: 0o644, text: []byte(text)} }

// File adds a file with the content of the file from.
func (t Tree) File(name, from string) { t[name] = item{mode: 0o644, from: from} }

// Program adds an executable with the content of the file from.
func (t Tree) Program(name, from string) { t[name] = item{mode: 0o755, from: from} }

// Link adds a symbolic link.
func (t Tree) Link(name, target string) { t[name] = item{mode: fs.ModeSymlink | 0o777, target: target} }

// Folder adds a directory.
func (t Tree) Folder(name string) { t[name] = item{mode: fs.ModeDir | 0o755} }

// Executable makes the files below a folder executable.
func (t Tree) Executable(folder string) {
	for name, n := range t {
		if n.mode.IsRegular() && strings.HasPrefix(name, folder+"/") {
			n.mode = 0o755
			t[name] = n
		}
	}
}

// Read returns the content of a file.
func (t Tree) Read(name string) (string, error) {
	found, ok := t[name]
	if !ok {
		return "", fmt.Errorf("find %s: %w", name, fs.ErrNotExist)
	}
	if found.from == "" {
		return string(found.text), nil
	}
	text, err := os.ReadFile(found.from)
	return string(text), err
}

// Programs adds every file of a directory as an executable.
func (t Tree) Programs(folder, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		t.Program(path.Join(folder, entry.Name()), filepath.Join(from, entry.Name()))
	}
	return nil
}

// Copy adds the regular files and directories below from, under folder.
func (t Tree) Copy(folder, from string) error {
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		name := path.Join(folder, filepath.ToSlash(below))
		switch {
		case entry.IsDir():
			t.Folder(name)
		case entry.Type().IsRegular():
			t.File(name, file)
		}
		return nil
	})
}

// Write packs the tree. Parent directories without an entry of their own get one, because engines differ in how they treat
// a file whose directory is missing.
func (t Tree) Write(w io.Writer) error {
	all := Tree{}
	for name, n := range t {
		all[name] = n
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := t[dir]; !ok {
				all.Folder(dir)
			}
		}
	}
	out := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].write(out, name); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	return out.Close()
}

func (i item) write(out *tar.Writer, name string) error {
	header := &tar.Header{Name: name, Mode: int64(i.mode.Perm()), Typeflag: tar.TypeReg, Size: int64(len(i.text))}
	switch {
	case i.mode.IsDir():
		header.Name, header.Typeflag = name+"/", tar.TypeDir
	case i.mode&fs.ModeSymlink != 0:
		header.Typeflag, header.Linkname = tar.TypeSymlink, i.target
	}
	if i.from == "" {
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		_, err := out.Write(i.text)
		return err
	}
	file, err := os.Open(i.from)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(out, file)
	return err
}

// WriteFile packs the tree into a file.
func (t Tree) WriteFile(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(t.Write(file), file.Close())
}

// Pack returns the packed tree; meant for layers with a single program.
func (t Tree) Pack() ([]byte, error) {
	var out bytes.Buffer
	err := t.Write(&out)
	return out.Bytes(), err
}
