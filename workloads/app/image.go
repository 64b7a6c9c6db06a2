package app

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// ArchiveImages are the names of the images in an archive in the format of `docker save`.
func ArchiveImages(path string) (names []string, err error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(path) })
	if err != nil {
		return nil, fmt.Errorf("read image archive %s: %w: want a file that 'docker save' or 'podman save' wrote", path, err)
	}
	for _, one := range manifest {
		names = append(names, one.RepoTags...)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("read image archive %s: %w", path, errors.New("its images have no names: save them by name and not by ID"))
	}
	return names, nil
}
