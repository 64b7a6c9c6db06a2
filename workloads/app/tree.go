package app

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// tree is what a folder has: files that may be manifests, and folders that are read in another way than with -f.
type tree struct {
	files          []string
	kustomizations []string
	charts         []string
	others         []string // names of other files
}

// extensions are those of the files that are read where their folder is named, as kubectl has it.
var extensions = []string{".json", ".yaml", ".yml"}

// schemaFile is the schema that holdfast writes beside holdfast.yaml.
const schemaFile = "holdfast.schema.json"

func (t *tree) walk(root string) error {
	return filepath.WalkDir(root+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
		if err != nil { // of the root itself, there is no entry then
			return err
		}
		switch name := entry.Name(); {
		case entry.IsDir():
			if runs, _ := filepath.Glob(filepath.Join(path, "*", "run.json")); len(runs) > 0 && name == "artifacts" { // of holdfast itself
				return filepath.SkipDir
			}
		case slices.Contains(kustomizations, name):
			t.kustomizations = append(t.kustomizations, filepath.Dir(path))
		case name == "Chart.yaml":
			t.charts = append(t.charts, filepath.Dir(path))
		case name == schemaFile:
		case !slices.Contains(extensions, filepath.Ext(name)):
			t.others = append(t.others, name)
		default:
			if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() { // what cannot be read is said when it is read
				t.files = append(t.files, path)
			}
		}
		return nil
	})
}

// kustomizations are the names of files that make their folder a kustomization.
var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// used reports whether a file is in a folder that has a use of its own.
func (t *tree) used(file string) bool {
	return slices.ContainsFunc(slices.Concat(t.kustomizations, t.charts), func(folder string) bool { return below(file, folder) })
}

func below(path, folder string) bool {
	return folder == "." || strings.HasPrefix(path, folder+string(filepath.Separator))
}

// uses says what is read with other options than -f.
func (t *tree) uses(root string) (lines []string) {
	root = filepath.Clean(root)
	if first := t.entries(); len(first) > 0 {
		line := fmt.Sprintf("%s is a kustomization: use -k %s in place of -f %s", first[0], first[0], root)
		if len(first) > 1 {
			line += fmt.Sprintf(" (others: %s)", strings.Join(few(first[1:]), ", "))
		}
		lines = append(lines, line)
	}
	for _, chart := range t.charts {
		if !slices.ContainsFunc(slices.Concat(t.charts, t.kustomizations), func(folder string) bool { return folder != chart && below(chart, folder) }) {
			lines = append(lines, fmt.Sprintf("%s is a Helm chart: use --chart %s", chart, chart))
		}
	}
	if len(t.files)+len(lines) == 0 {
		line := root + " has no file with .yaml, .yml or .json at its end"
		if len(t.others) > 0 {
			line += fmt.Sprintf(" (it has %s)", strings.Join(few(t.others), ", "))
		}
		lines = append(lines, line)
	}
	return lines
}

// entries are the kustomizations that no other one of the tree builds upon, such as overlays; if there are none, all of them.
func (t *tree) entries() (first []string) {
	var built []string
	for _, folder := range t.kustomizations {
		built = append(built, buildsUpon(folder)...)
	}
	for _, folder := range t.kustomizations {
		if !slices.Contains(built, folder) {
			first = append(first, folder)
		}
	}
	if len(first) == 0 {
		return t.kustomizations
	}
	return first
}

// buildsUpon are the folders that a kustomization names.
func buildsUpon(folder string) (all []string) {
	var k struct{ Resources, Bases, Components []string }
	for _, name := range kustomizations {
		text, _ := os.ReadFile(filepath.Join(folder, name))
		_ = yaml.Unmarshal(text, &k) // what is wrong with it is said when it is built
	}
	for _, name := range slices.Concat(k.Resources, k.Bases, k.Components) {
		all = append(all, filepath.Join(folder, name))
	}
	return all
}
