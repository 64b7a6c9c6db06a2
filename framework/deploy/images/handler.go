package images

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Handler serves the images of an OCI image layout, for reading only, as the registries that they come from: containerd says in the query
// parameter ns which registry it would have asked. The index is read at each request, so images can be added meanwhile.
//
// Blobs are served by go-containerregistry's registry. Its manifests are not used: it takes an index only with the parts for all
// platforms, and the layout has those for one.
func Handler(folder string) http.Handler {
	s := server{layout: layout.Path(folder)}
	s.blobs = registry.New(registry.Logger(log.New(io.Discard, "", 0)),
		registry.WithBlobHandler(registry.NewDiskBlobHandler(filepath.Join(folder, "blobs"))))
	return http.HandlerFunc(s.serve)
}

type server struct {
	layout layout.Path
	blobs  http.Handler
}

func (s server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "images are added by holdfast alone")
		return
	}
	repository, reference, asked := manifestOf(r.URL.Path)
	if !asked {
		s.blob(w, r)
		return
	}
	host := HostOf(r.URL.Query().Get("ns"))
	found, err := s.find(host+"/"+repository, reference)
	var text []byte
	if err == nil && found.Digest != (v1.Hash{}) {
		text, err = s.layout.Bytes(found.Digest)
	}
	switch {
	case err != nil:
		refuse(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	case text == nil:
		refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN",
			fmt.Sprintf("holdfast was given no image %s: name it with --image", whole(host+"/"+repository, reference)))
		return
	}
	w.Header().Set("Content-Type", string(found.MediaType))
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.Header().Set("Docker-Content-Digest", found.Digest.String())
	if r.Method == http.MethodGet {
		_, _ = w.Write(text) // the client sees a short answer
	}
}

// blob serves everything that is no manifest. A manifest is refused: containerd asks for it as a blob when its repository does not have
// it, and would get an image of another one.
func (s server) blob(w http.ResponseWriter, r *http.Request) {
	digest := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if found, err := s.find("", digest); err != nil || found.Digest != (v1.Hash{}) {
		refuse(w, http.StatusNotFound, "BLOB_UNKNOWN", digest+" is a manifest of another repository")
		return
	}
	s.blobs.ServeHTTP(w, r)
}

// manifestOf reads the path /v2/REPOSITORY/manifests/REFERENCE.
func manifestOf(path string) (repository, reference string, is bool) {
	rest, is := strings.CutPrefix(path, "/v2/")
	if !is {
		return "", "", false
	}
	at := strings.LastIndex(rest, "/manifests/")
	if at < 0 {
		return "", "", false
	}
	reference = rest[at+len("/manifests/"):]
	return rest[:at], reference, !strings.Contains(reference, "/")
}

// whole is the name of an image.
func whole(repository, reference string) string {
	if _, err := v1.NewHash(reference); err == nil {
		return repository + "@" + reference
	}
	return repository + ":" + reference
}

// find looks for a manifest of a repository by its tag or digest, or by its digest in all repositories. Without a digest in the answer,
// there is none.
func (s server) find(repository, reference string) (found v1.Descriptor, err error) {
	index, err := s.layout.ImageIndex()
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return found, err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return found, err
	}
	for _, one := range list.Manifests {
		named := one.Annotations[NameAnnotation]
		if named == repository+":"+reference {
			return one, nil
		}
		if repository != "" && !strings.HasPrefix(named, repository+":") && !strings.HasPrefix(named, repository+"@") {
			continue
		}
		if one.Digest.String() == reference {
			return one, nil
		}
		if part, err := s.part(one, reference); err != nil || part.Digest != (v1.Hash{}) {
			return part, err
		}
	}
	return found, nil
}

// part looks for a digest among the parts of an index.
func (s server) part(of v1.Descriptor, digest string) (found v1.Descriptor, err error) {
	if !of.MediaType.IsIndex() {
		return found, nil
	}
	text, err := s.layout.Bytes(of.Digest)
	if err != nil {
		return found, err
	}
	var parts v1.IndexManifest
	if err := json.Unmarshal(text, &parts); err != nil {
		return found, err
	}
	for _, one := range parts.Manifests {
		if one.Digest.String() != digest {
			continue
		}
		if _, err := s.layout.Bytes(one.Digest); errors.Is(err, fs.ErrNotExist) { // it is for another platform
			return found, nil
		}
		return one, nil
	}
	return found, nil
}

// refuse answers with an error of the registry protocol.
func refuse(w http.ResponseWriter, status int, code, message string) {
	type failure struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string][]failure{"errors": {{code, message}}}) // the client sees a short answer
}
