package images

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Name is the name of an image as containerd has it, with its registry, and with a tag or a digest.
type Name struct {
	Host       string // docker.io, where the reference names none
	Repository string // library/nginx
	Tag        string // latest, where the reference has neither a tag nor a digest; empty: it has a digest
	Digest     string
}

// DefaultHost is the registry of references that name none.
const DefaultHost = "docker.io"

// ParseName reads a reference as containerd does: of a tag and a digest, the digest counts.
func ParseName(reference string) (Name, error) {
	ref, err := name.ParseReference(reference, name.WeakValidation)
	if err != nil {
		return Name{}, fmt.Errorf("read the image's name: %w", err)
	}
	n := Name{Host: HostOf(ref.Context().RegistryStr()), Repository: ref.Context().RepositoryStr()}
	if digest, is := ref.(name.Digest); is {
		n.Digest = digest.DigestStr()
	} else {
		n.Tag = ref.Identifier()
	}
	return n, nil
}

// HostOf is the name of a registry that has several.
func HostOf(host string) string {
	if slices.Contains([]string{name.DefaultRegistry, "registry-1." + DefaultHost}, host) {
		return DefaultHost
	}
	return host
}

// String is the whole name: docker.io/library/nginx:1.25.
func (n Name) String() string {
	if n.Digest != "" {
		return n.Host + "/" + n.Repository + "@" + n.Digest
	}
	return n.Host + "/" + n.Repository + ":" + n.Tag
}

// local is the name that podman gives to an image that was built under a name without a registry.
func (n Name) local() Name {
	n.Host, n.Repository = "localhost", strings.TrimPrefix(n.Repository, "library/")
	return n
}

// within is the image of the same repository with another digest.
func (n Name) within(digest v1.Hash) Name {
	n.Tag, n.Digest = "", digest.String()
	return n
}

// Under is the path of an archive that is named relative to a folder. A reference stays as it is: shop/web:dev is an image unless there is
// such a file.
func Under(folder, given string) string {
	path := given
	if !filepath.IsAbs(given) {
		path = filepath.Join(folder, given)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() || isPath(given) {
		return path
	}
	return given
}

// isPath tells the path of an archive from a reference. No reference begins with a dot or a slash.
func isPath(given string) bool {
	return strings.HasPrefix(given, ".") || filepath.IsAbs(given) || slices.Contains([]string{".tar", ".gz", ".tgz", ".oci"}, filepath.Ext(given))
}
