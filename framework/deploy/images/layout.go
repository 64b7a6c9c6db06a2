package images

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// containerdName is the annotation with the whole name of an image that containerd, and so Docker, saves.
const containerdName = "io.containerd.image.name"

// attestation is the annotation of what BuildKit says about an image. It is no image.
const attestation = "vnd.docker.reference.type"

// fromLayout copies the images of an archive with an OCI image layout, as Docker since 25, BuildKit and `podman save --format oci-archive`
// write it. Their digests stay.
func (s *store) fromLayout(a *archive) (all []held, err error) {
	var index v1.IndexManifest
	if _, err := a.document(ociIndex, &index); err != nil {
		return nil, err
	}
	for _, one := range index.Manifests {
		if one.Annotations[attestation] != "" || one.Platform != nil && fits(one.Platform.OS, one.Platform.Architecture) != nil {
			continue
		}
		h := held{image: v1.Descriptor{MediaType: one.MediaType, Size: one.Size, Digest: one.Digest}}
		named := one.Annotations[containerdName]
		if named == "" {
			named = one.Annotations[NameAnnotation]
		}
		if strings.ContainsAny(named, "/:@") { // otherwise it is a tag alone
			if h.name, err = ParseName(named); err != nil {
				return nil, err
			}
		}
		if h.digests, err = s.tree(a, one); err != nil {
			return nil, fmt.Errorf("image %s: %w", h.title(), err)
		}
		all = append(all, h)
	}
	return all, nil
}

// title names an image for people.
func (h held) title() string {
	if h.name == (Name{}) {
		return h.image.Digest.String()
	}
	return h.name.String()
}

// tree copies an image with its layers. Of an image for several platforms it copies the one for this machine.
func (s *store) tree(a *archive, top v1.Descriptor) (digests []v1.Hash, err error) {
	var document struct {
		v1.Manifest
		Manifests []v1.Descriptor `json:"manifests"`
	}
	text, err := a.document(blobIn(top.Digest), &document)
	if err != nil {
		return nil, err
	}
	if err := s.blobOf(top.Digest, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	if top.MediaType.IsIndex() {
		part, err := ours(document.Manifests)
		if err != nil {
			return nil, err
		}
		digests, err = s.tree(a, part)
		return append([]v1.Hash{top.Digest}, digests...), err
	}
	var config v1.ConfigFile
	if _, err := a.document(blobIn(document.Config.Digest), &config); err != nil {
		return nil, err
	}
	if err := fits(config.OS, config.Architecture); err != nil {
		return nil, err
	}
	for _, blob := range append([]v1.Descriptor{document.Config}, document.Layers...) {
		content, err := a.open(blobIn(blob.Digest))
		if err == nil {
			err = s.blobOf(blob.Digest, content)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", blob.Digest, err)
		}
	}
	return []v1.Hash{top.Digest}, nil
}

// ours is the part of an index for this machine's platform. A part without a platform may be a nested index.
func ours(parts []v1.Descriptor) (v1.Descriptor, error) {
	var has []string
	for _, part := range parts {
		if part.Platform == nil || part.Platform.OS == platform.OS && part.Platform.Architecture == platform.Architecture {
			return part, nil
		}
		if part.Annotations[attestation] == "" {
			has = append(has, part.Platform.String())
		}
	}
	return v1.Descriptor{}, fmt.Errorf("the image is for %s, and the nodes are %s: save or build it for this platform",
		strings.Join(has, ", "), platform)
}

func blobIn(digest v1.Hash) string { return path.Join("blobs", digest.Algorithm, digest.Hex) }
