package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// Sources are where manifests are read.
type Sources struct {
	// Files are files, folders with all their subfolders, http URLs, or "-" for the standard input, as `kubectl apply -R -f` takes them.
	Files []string
	// Kustomize is a folder with a kustomization, as `kubectl apply -k` takes it; empty: none.
	Kustomize string
	// Chart is a Helm chart. Package appsource renders it.
	Chart Chart
	// Before are files, folders and URLs with what must be ready before all else.
	Before []string
}

// Chart is a Helm chart.
type Chart struct {
	Path    string   // a folder or an archive; empty: there is no chart
	Values  []string // files
	Release string   // empty: the name of the chart
}

// Empty reports whether no manifests are named.
func (s Sources) Empty() bool { return len(s.Files) == 0 && s.Kustomize == "" && s.Chart.Path == "" }

// HowToName says how manifests are named, for an error.
const HowToName = "name files or folders with -f, a kustomization with -k, or a Helm chart with --chart"

// Read reads manifests from files and a kustomization, in the order of the sources; those of Before come first, and are marked. The error
// names each file and document that does not decode.
func Read(from Sources) ([]Manifest, error) {
	all, err := readFiles(from.Before, "")
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Before = true
	}
	if len(from.Files) == 0 && from.Kustomize == "" {
		return all, nil
	}
	rest, err := readFiles(from.Files, from.Kustomize)
	return append(all, rest...), err
}

func readFiles(files []string, kustomize string) ([]Manifest, error) {
	if len(files) == 0 && kustomize == "" {
		return nil, nil
	}
	for _, name := range files {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && name != "-" && !strings.Contains(name, "://") {
			return nil, fmt.Errorf("read manifests: there is no file or folder %s", name)
		}
	}
	if err := broken(files); err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	options := &resource.FilenameOptions{Filenames: files, Kustomize: kustomize, Recursive: kustomize == ""}
	return decode(builder().FilenameParam(false, options))
}

// Decode reads the manifests of a text. The source is where it is from.
func Decode(text io.Reader, source string) ([]Manifest, error) {
	return decode(builder().Stream(text, source))
}

func builder() *resource.Builder {
	return resource.NewLocalBuilder().Unstructured().Local().ContinueOnError()
}

func decode(b *resource.Builder) ([]Manifest, error) {
	infos, err := b.Flatten().Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	var all []Manifest
	for _, info := range infos {
		object, is := info.Object.(*unstructured.Unstructured)
		if !is {
			return nil, fmt.Errorf("read manifests: %s: a %T is not a manifest", info.Source, info.Object)
		}
		m := Manifest{Source: info.Source, Object: *object}
		if m.Object.GetName() == "" && m.Object.GetGenerateName() == "" {
			return nil, fmt.Errorf("read manifests: %s: a %s has no metadata.name", m.Source, m.Object.GetKind())
		}
		all = append(all, m)
	}
	return all, nil
}
