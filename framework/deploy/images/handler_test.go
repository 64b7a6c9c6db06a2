package images_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/holdfast-ha/holdfast/framework/deploy/images"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// layoutOf gathers archives into a layout.
func layoutOf(t *testing.T, archives ...Files) string {
	t.Helper()
	folder, o := t.TempDir(), images.Options{Say: func(string) {}}
	for _, one := range archives {
		o.Given = append(o.Given, one.Write(t, "saved.tar"))
	}
	if _, err := images.Gather(t.Context(), []app.Reference{}, o, folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// asContainerd sends requests for all registries to one, and says which was meant.
type asContainerd struct {
	to   *url.URL
	sent *[]string
}

func (c asContainerd) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	query := r.URL.Query()
	query.Set("ns", strings.Replace(r.URL.Host, "index.docker.io", "docker.io", 1))
	r.URL.RawQuery, r.URL.Scheme, r.URL.Host, r.Host = query.Encode(), c.to.Scheme, c.to.Host, c.to.Host
	*c.sent = append(*c.sent, r.Method+" "+r.URL.Path)
	return http.DefaultTransport.RoundTrip(r)
}

// node pulls through a mirror as containerd does.
type node struct {
	t    *testing.T
	url  string
	sent []string
	to   []remote.Option
}

func newNode(t *testing.T, folder string) *node {
	t.Helper()
	server := httptest.NewServer(images.Handler(folder))
	t.Cleanup(server.Close)
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, url: server.URL}
	n.to = []remote.Option{remote.WithTransport(asContainerd{to, &n.sent}), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH})}
	return n
}

// pull is the first layer of an image, and the digest under which it came.
func (n *node) pull(image string) (content string, digest v1.Hash, err error) {
	n.t.Helper()
	ref, err := name.ParseReference(image)
	if err != nil {
		n.t.Fatal(err)
	}
	found, err := remote.Get(ref, n.to...)
	if err != nil {
		return "", digest, err
	}
	pulled, err := found.Image()
	if err != nil {
		return "", digest, err
	}
	if _, err := pulled.ConfigFile(); err != nil {
		return "", digest, err
	}
	manifest, err := pulled.Manifest()
	if err != nil {
		return "", digest, err
	}
	layer, err := pulled.LayerByDigest(manifest.Layers[0].Digest)
	if err != nil {
		return "", digest, err
	}
	from, err := layer.Compressed()
	if err != nil {
		return "", digest, err
	}
	text, err := io.ReadAll(from)
	return string(text), found.Digest, err
}

// two are images of the same path in two registries, and an index.
func two(t *testing.T) (files Files, ours, theirs, index v1.Descriptor) {
	t.Helper()
	files = Files{}
	ours, theirs = files.Image(t, "", Layer(t, "ours")), files.Image(t, "", Layer(t, "theirs"))
	index = files.Index(t, For(v1.Descriptor{MediaType: ours.MediaType, Size: 9, Digest: Digest("elsewhere")}, "riscv64"),
		For(ours, ""))
	files.Layout(t,
		Named(ours, images.NameAnnotation, "docker.io/library/nginx:1.25"),
		Named(theirs, images.NameAnnotation, "registry.example/library/nginx:1.25"),
		Named(index, images.NameAnnotation, "docker.io/shop/web:2"))
	return files, ours, theirs, index
}

func TestImagesAreServedUnderTheirOwnNames(t *testing.T) {
	files, ours, theirs, index := two(t)
	n := newNode(t, layoutOf(t, files))
	for image, want := range map[string]struct {
		layer  string
		digest v1.Hash
	}{
		"nginx:1.25":                                               {"ours", ours.Digest},
		"registry.example/library/nginx:1.25":                      {"theirs", theirs.Digest},
		"nginx@" + ours.Digest.String():                            {"ours", ours.Digest},
		"nginx:other@" + ours.Digest.String():                      {"ours", ours.Digest},
		"registry.example/library/nginx@" + theirs.Digest.String(): {"theirs", theirs.Digest},
		"shop/web:2":                        {"ours", index.Digest},
		"shop/web@" + index.Digest.String(): {"ours", index.Digest},
		"shop/web@" + ours.Digest.String():  {"ours", ours.Digest},
	} {
		layer, digest, err := n.pull(image)
		if err != nil || layer != Layer(t, want.layer) || digest != want.digest {
			t.Errorf("%s: digest %s, want %s; error %v", image, digest, want.digest, err)
		}
	}
}

func TestImagesThatWereNotGiven(t *testing.T) {
	files, ours, theirs, _ := two(t)
	n := newNode(t, layoutOf(t, files))
	for image, whole := range map[string]string{
		"nginx:1.26":                                             "docker.io/library/nginx:1.26",
		"registry.example/library/nginx:1.26":                    "registry.example/library/nginx:1.26",
		"other.example/library/nginx:1.25":                       "other.example/library/nginx:1.25",
		"nginx@" + theirs.Digest.String():                        "docker.io/library/nginx@" + theirs.Digest.String(),
		"registry.example/library/nginx@" + ours.Digest.String(): "registry.example/library/nginx@" + ours.Digest.String(),
		"shop/web@" + Digest("elsewhere").String():               "docker.io/shop/web@" + Digest("elsewhere").String(),
		"shop/web": "docker.io/shop/web:latest",
	} {
		if _, _, err := n.pull(image); err == nil || !strings.Contains(err.Error(), "holdfast was given no image "+whole+": ") {
			t.Errorf("%s: error %v, want one with %s", image, err, whole)
		}
	}
	// As containerd does when a repository does not have a manifest.
	for path, want := range map[string]int{
		"/v2/library/nginx/blobs/" + theirs.Digest.String():            http.StatusNotFound,
		"/v2/library/nginx/blobs/" + Digest(Layer(t, "ours")).String(): http.StatusOK,
		"/v2/library/nginx/blobs/" + Digest("elsewhere").String():      http.StatusNotFound,
		"/v2/library/nginx/blobs/sha256:../../index.json":              http.StatusNotFound,
		"/v2/": http.StatusOK, "/": http.StatusNotFound, "/v2/library/nginx/manifests/": http.StatusNotFound,
	} {
		if got := n.ask(http.MethodHead, path); got != want {
			t.Errorf("HEAD %s: %d, want %d", path, got, want)
		}
	}
}

func (n *node) ask(method, path string) int {
	n.t.Helper()
	request, err := http.NewRequestWithContext(n.t.Context(), method, n.url+path, strings.NewReader(""))
	if err != nil {
		n.t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		n.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// A pod with imagePullPolicy Always asks for the tag's digest at each start, and finds an image that has taken its place meanwhile.
func TestATagIsAskedForAtEachStart(t *testing.T) {
	first, second := Docker(t, "", []string{"shop/web:dev"}, Layer(t, "first")), Docker(t, "", []string{"shop/web:dev"}, Layer(t, "second"))
	folder := layoutOf(t, first)
	n := newNode(t, folder)
	ref, err := name.ParseReference("shop/web:dev")
	if err != nil {
		t.Fatal(err)
	}
	before, err := remote.Head(ref, n.to...)
	if err != nil {
		t.Fatal(err)
	}
	next := layoutOf(t, second)
	if err := os.CopyFS(filepath.Join(folder, "blobs"), os.DirFS(filepath.Join(next, "blobs"))); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(next, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "index.json"), index, 0o600); err != nil {
		t.Fatal(err)
	}
	after, err := remote.Head(ref, n.to...)
	if err != nil || after.Digest == before.Digest {
		t.Errorf("digest %v after %v, %v", after, before, err)
	}
	layer, digest, err := n.pull("shop/web:dev")
	if err != nil || layer != Layer(t, "second") || digest != after.Digest {
		t.Errorf("pulled %s, want %s; %v", digest, after.Digest, err)
	}
	if diff := cmp.Diff([]string{"GET /v2/", "HEAD /v2/shop/web/manifests/dev"}, n.sent[:2]); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestNobodyElseAddsImages(t *testing.T) {
	files, _, _, _ := two(t)
	folder := layoutOf(t, files)
	n := newNode(t, folder)
	digest := Digest("").String()
	for _, request := range []string{
		"POST /v2/library/nginx/blobs/uploads/?digest=" + digest, "PUT /v2/library/nginx/manifests/1.25", "DELETE /v2/library/nginx/manifests/1.25",
		"PUT /v2/library/nginx/blobs/uploads/1?digest=" + digest, "DELETE /v2/library/nginx/blobs/" + Digest(Layer(t, "ours")).String(),
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := n.ask(method, path); got != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", request, got)
		}
	}
	if _, _, err := n.pull("nginx:1.25"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAnEmptyFolderHasNoImages(t *testing.T) {
	n := newNode(t, t.TempDir())
	if _, _, err := n.pull("nginx:1.25"); err == nil || !strings.Contains(err.Error(), "holdfast was given no image") {
		t.Errorf("error %v", err)
	}
	if got := n.ask(http.MethodGet, "/v2/"); got != http.StatusOK {
		t.Errorf("/v2/: %d", got)
	}
}
