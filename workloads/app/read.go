package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/holdfast-ha/holdfast/workloads/chart"
)

// Sources are where manifests are read.
type Sources struct {
	// Files are files, folders with all their subfolders, http URLs, or "-" for the standard input, as `kubectl apply -R -f` takes them.
	Files []string
	// Kustomize is a folder with a kustomization, as `kubectl apply -k` takes it; empty: none.
	Kustomize string
	// Chart is a Helm chart; without a path: none. Helm finds the program that renders it; nil: it must be on PATH.
	Chart chart.Chart
	Helm  *chart.Helm

	rendered *rendered // by Render
}

// None reports whether no manifests are named.
func (s Sources) None() bool { return len(s.Files) == 0 && s.Kustomize == "" && s.Chart.Path == "" }

// Read reads manifests, in the order of the sources. A chart must have been rendered. The error names each file and document that does not
// decode.
func Read(from Sources) ([]Manifest, error) {
	for _, name := range from.Files {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && name != "-" && !strings.Contains(name, "://") {
			return nil, fmt.Errorf("read manifests: there is no file or folder %s", name)
		}
	}
	options := &resource.FilenameOptions{Filenames: from.Files, Kustomize: from.Kustomize, Recursive: from.Kustomize == ""}
	charted, err := from.charted()
	if err != nil || len(from.Files) == 0 && from.Kustomize == "" && from.Chart.Path != "" {
		return charted, err
	}
	if err := broken(from.Files); err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	all, err := decode(builder().FilenameParam(false, options))
	return append(all, charted...), err
}

func builder() *resource.Builder {
	return resource.NewLocalBuilder().Unstructured().Local().ContinueOnError()
}

// decode reads what a builder was told to read.
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
