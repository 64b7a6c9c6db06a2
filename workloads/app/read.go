package app

import (
	"errors"
	"fmt"
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
}

// Read reads manifests, in the order of the sources. The error names each file and document that does not decode.
func Read(from Sources) ([]Manifest, error) {
	for _, name := range from.Files {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && name != "-" && !strings.Contains(name, "://") {
			return nil, fmt.Errorf("read manifests: there is no file or folder %s", name)
		}
	}
	options := &resource.FilenameOptions{Filenames: from.Files, Kustomize: from.Kustomize, Recursive: from.Kustomize == ""}
	infos, err := resource.NewLocalBuilder().Unstructured().Local().ContinueOnError().FilenameParam(false, options).Flatten().Do().Infos()
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
