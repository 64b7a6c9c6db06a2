package nodeimage

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// netfilterPrograms are the programs that kube-proxy calls.
var netfilterPrograms = []string{"usr/sbin/nft", "usr/sbin/xtables-nft-multi", "usr/sbin/conntrack"}

// netfilterFiles are the files that those programs read. Without protocol names nft prints 6 for tcp. When kube-proxy
// restarts, it reads its old rules back in that form, takes them for unknown rules and deletes them; the same deletion
// removes the rules that it has just written, because they are identical. From then on no Service is reachable. Seen with
// v1.37.0 and v1.37.1 at every restart of kube-proxy.
var netfilterFiles = []string{"etc/protocols"}

// iptablesNames are links to xtables-nft-multi, which acts according to the name under which it is called.
var iptablesNames = []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"}

// writeNetfilter packs the netfilter programs of a root file system, with every library and file that they need. The
// archive becomes the lower part of the kube-proxy image.
func writeNetfilter(w io.Writer, root string) error {
	t, libraries := tree{}, libraryIndex(root)
	todo := slices.Clone(netfilterPrograms)
	extensions, err := filepath.Glob(filepath.Join(root, "usr/lib/*/xtables/*.so")) // loaded by name at run time, not listed in ELF headers
	if err != nil {
		return err
	}
	for _, file := range extensions {
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		todo = append(todo, filepath.ToSlash(name))
	}
	for _, name := range netfilterFiles {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return fmt.Errorf("read what kube-proxy's programs need: %w", err)
		}
		t.add(name, string(text))
	}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if _, done := t[name]; done {
			continue
		}
		file, err := inside(root, name)
		if err != nil {
			return err
		}
		t.program(name, file)
		needed, err := needs(file)
		if err != nil {
			return fmt.Errorf("read what %s needs: %w", name, err)
		}
		for _, library := range needed {
			at, ok := libraries[path.Base(library)]
			if !ok {
				return fmt.Errorf("find %s, which %s needs", library, name)
			}
			todo = append(todo, at)
			if strings.HasPrefix(library, "/") { // the dynamic linker, by its absolute path
				t.link("lib64", "usr/lib64")
				t.link("lib", "usr/lib")
			}
		}
	}
	for _, name := range iptablesNames {
		t.link("usr/sbin/"+name, "xtables-nft-multi")
	}
	return t.write(w)
}

// libraryIndex returns the paths of libraries by their file names.
func libraryIndex(root string) map[string]string {
	index := map[string]string{}
	for _, pattern := range []string{"usr/lib/*.so*", "usr/lib64/*.so*", "usr/lib/*/*.so*"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern)) // the patterns are well formed
		for _, file := range found {
			if name, err := filepath.Rel(root, file); err == nil {
				index[filepath.Base(file)] = filepath.ToSlash(name)
			}
		}
	}
	// Programs name the dynamic linker by its absolute path, so it has to be at that path.
	for name, at := range index {
		if strings.HasPrefix(name, "ld-linux") {
			for _, dir := range []string{"usr/lib64/", "usr/lib/"} {
				if _, err := os.Lstat(filepath.Join(root, dir+name)); err == nil {
					at = dir + name
					break
				}
			}
			index[name] = at
		}
	}
	return index
}

// needs returns the libraries and the interpreter of a program or library.
func needs(file string) ([]string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP {
			text, err := io.ReadAll(part.Open())
			if err != nil {
				return nil, err
			}
			libraries = append(libraries, strings.TrimRight(string(text), "\x00"))
		}
	}
	return libraries, nil
}

// inside resolves symlinks as if root were the root directory.
func inside(root, name string) (string, error) {
	at := path.Clean("/" + name)
	for range 40 { // the kernel's own limit
		file := filepath.Join(root, filepath.FromSlash(at))
		info, err := os.Lstat(file)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return file, nil
		}
		target, err := os.Readlink(file)
		if err != nil {
			return "", err
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(at), target)
		}
		at = path.Clean(target)
	}
	return "", fmt.Errorf("follow the links of %s: %w", name, errors.ErrUnsupported)
}
