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

// tree is the content of one image layer, by path. Paths are relative and use the real directories of a merged-/usr system
// (usr/sbin, not the symlink sbin). Packing a tree is deterministic.
type tree map[string]item

// item is one file, link or folder of a tree.
type item struct {
	mode   fs.FileMode // with fs.ModeDir for a folder, fs.ModeSymlink for a link
	from   string      // the file with the content; or
	text   []byte      // the content itself
	target string      // of a link
}

func (t tree) add(name, text string)     { t[name] = item{mode: 0o644, text: []byte(text)} }
func (t tree) link(name, target string)  { t[name] = item{mode: fs.ModeSymlink | 0o777, target: target} }
func (t tree) folder(name string)        { t[name] = item{mode: fs.ModeDir | 0o755} }
func (t tree) program(name, from string) { t[name] = item{mode: 0o755, from: from} }
func (t tree) read(name string) (string, error) {
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

// programs adds every file of a directory as an executable.
func (t tree) programs(folder, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		t.program(path.Join(folder, entry.Name()), filepath.Join(from, entry.Name()))
	}
	return nil
}

// copy adds the regular files and directories below from, under folder.
func (t tree) copy(folder, from string) error {
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
			t.folder(name)
		case entry.Type().IsRegular():
			t[name] = item{mode: 0o644, from: file}
		}
		return nil
	})
}

// write packs the tree. Parent directories without an entry of their own get one, because engines differ in how they treat
// a file whose directory is missing.
func (t tree) write(w io.Writer) error {
	all := tree{}
	for name, n := range t {
		all[name] = n
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := t[dir]; !ok {
				all.folder(dir)
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

// appendTar copies the entries of a tar file to out without closing out.
func appendTar(out *tar.Writer, from io.Reader) error {
	in := tar.NewReader(from)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
}

// kindFiles are the static files of kind's base image, read from kind's module. Scripts become executable. Files for
// rootless nodes on fuse-overlayfs and for building the image are left out.
func kindFiles(moduleDir string) (tree, error) {
	root := filepath.Join(moduleDir, "images", "base", "files")
	t := tree{}
	for _, part := range []string{"etc", "kind", "usr/local/bin/entrypoint"} {
		if err := t.copy(part, filepath.Join(root, filepath.FromSlash(part))); err != nil {
			return nil, fmt.Errorf("read the files of kind's base image: %w", err)
		}
	}
	for _, name := range []string{"etc", "etc/systemd", "etc/systemd/system", "etc/systemd/system/containerd-fuse-overlayfs.service"} {
		delete(t, name)
	}
	for name, n := range t {
		if n.mode.IsRegular() && (strings.HasPrefix(name, "kind/bin/") || strings.HasPrefix(name, "usr/local/bin/")) {
			n.mode = 0o755
			t[name] = n
		}
	}
	return t, nil
}

func (t tree) writeFile(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(t.write(file), file.Close())
}

// pack returns the packed tree; meant for layers with a single program.
func (t tree) pack() ([]byte, error) {
	var out bytes.Buffer
	err := t.write(&out)
	return out.Bytes(), err
}
