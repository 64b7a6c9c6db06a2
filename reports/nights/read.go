package nights

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

// Read reads all runs and certificates below a folder, which may be a symbolic link; links below it, such as latest, are not followed. The
// runs of which a certificate consists are not nights of their own. It returns an error only if the folder cannot be read.
func Read(root string) (Nights, error) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		what := "no such folder"
		if err == nil {
			what = "it is a file"
		}
		return Nights{}, fmt.Errorf("look for runs in %q: %s: give a folder with the folders of runs, such as artifacts", root, what)
	}
	var all Nights
	var orphans []string // records without a run.json or report.json
	below := os.DirFS(root)
	err := fs.WalkDir(below, ".", func(dir string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			all.List = append(all.List, Night{
				Dir: dir, ID: path.Base(dir), At: timeOf(path.Base(dir)), Result: reports.Unknown, Word: string(reports.Unknown), Trouble: unread(root, err),
			})
			return fs.SkipDir
		case !entry.IsDir():
			return nil
		case strings.HasPrefix(entry.Name(), runfolder.SetAsidePrefix):
			return fs.SkipDir
		case has(below, dir, certificate.JSONFile, certificate.YAMLFile):
			all.List = append(all.List, readCertificate(root, dir))
			return fs.SkipDir
		case has(below, dir, runfolder.FileName, formats.JSONFile):
			all.List = append(all.List, readRun(root, dir))
			return fs.SkipDir
		case has(below, dir, history.EventsFile):
			orphans = append(orphans, path.Dir(path.Dir(dir))) // records are in suite/name of the run's folder
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return Nights{}, fmt.Errorf("look for runs in %s: %w", root, err)
	}
	slices.Sort(orphans)
	for _, dir := range slices.Compact(orphans) {
		all.List = append(all.List, readRun(root, dir))
	}
	all.sort()
	return all, nil
}

// has is whether a folder has one of these files.
func has(below fs.FS, dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := fs.Stat(below, path.Join(dir, name))
		return err == nil && !info.IsDir()
	})
}

// sort brings the nights into the order of time, and takes out those that are stored twice. The copy with more to look at stays.
func (all *Nights) sort() {
	slices.SortStableFunc(all.List, func(a, b Night) int {
		if order := cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)); order != 0 || a.Anchors == b.Anchors {
			return cmp.Or(order, cmp.Compare(a.Dir, b.Dir))
		}
		return map[bool]int{true: -1, false: 1}[a.Anchors]
	})
	type identity struct {
		certificate bool
		id          string
		at          time.Time
		seed        uint64
	}
	seen := make(map[identity]bool)
	all.List = slices.DeleteFunc(all.List, func(n Night) bool {
		is := identity{n.Certificate, n.ID, n.At.UTC(), n.seed}
		if n.seed == 0 || !seen[is] { // without a seed it is not known which run it is
			seen[is] = true
			return false
		}
		all.Twice = append(all.Twice, n.Dir)
		return true
	})
}
