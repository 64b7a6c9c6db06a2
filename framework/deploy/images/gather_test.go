package images_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/holdfast-ha/holdfast/framework/deploy/images"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// other is an architecture that this machine does not have.
const other = "riscv64"

// gathered are the images of a layout by name. Each is whole.
func gathered(t *testing.T, folder string) map[string]v1.Hash {
	t.Helper()
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]v1.Hash{}
	for _, one := range list.Manifests {
		all[one.Annotations[images.NameAnnotation]] = one.Digest
		if one.MediaType.IsIndex() {
			continue // its parts for other platforms are not there
		}
		whole(t, folder, one.Digest)
	}
	return all
}

// whole reports blobs of an image that are not there, or not what they should be.
func whole(t *testing.T, folder string, image v1.Hash) {
	t.Helper()
	text, err := layout.Path(folder).Bytes(image)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range append([]v1.Descriptor{{Digest: image, Size: int64(len(text))}, manifest.Config}, manifest.Layers...) {
		text, err := layout.Path(folder).Bytes(blob.Digest)
		if err != nil || Digest(string(text)) != blob.Digest || int64(len(text)) != blob.Size {
			t.Errorf("%s of %s: %v, %d bytes with digest %s", blob.Digest, image, err, len(text), Digest(string(text)))
		}
	}
}

// gather gathers what pods want.
func gather(t *testing.T, o images.Options, references ...app.Reference) (folder string, notes []string, err error) {
	t.Helper()
	folder = t.TempDir()
	if o.Say == nil {
		o.Say = func(string) {}
	}
	notes, err = images.Gather(t.Context(), references, o, folder)
	if left, _ := filepath.Glob(filepath.Join(folder, "*-*")); len(left) > 1 { // oci-layout has a dash
		t.Errorf("left behind: %v", left)
	}
	return folder, notes, err
}

func inPod(image string) app.Reference {
	return app.Reference{Image: image, Where: "Deployment web (web.yaml:9): spec.containers[0].image", Use: app.InPod}
}

// names are the keys of a map.
func names(all map[string]v1.Hash) (keys []string) {
	for key := range all {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func TestArchivesOfAllFormats(t *testing.T) {
	base, top := Layer(t, "base"), Layer(t, strings.Repeat("top", 1000))
	tags := []string{"shop/web:dev", "localhost/cart:1"}
	linked := Docker(t, "", tags, base, top)
	linked["old/layer.tar"] = Link + "../" + Digest(top).Hex + "/layer.tar"
	linked["manifest.json"] = strings.Replace(linked["manifest.json"], Digest(top).Hex+"/", "old/", 1)
	packed := Docker(t, "", tags, base, top)
	packed[Digest(top).Hex+"/layer.tar"] = compressed(t, top)

	single, multi, podman := Files{}, Files{}, Files{}
	web, foreign := multi.Image(t, "", base, top), multi.Image(t, other, base)
	delete(multi, "blobs/sha256/"+foreign.Digest.Hex) // Docker saves the platforms that it has
	index := multi.Index(t, For(foreign, other), For(web, ""))
	attested := Named(multi.Blob("application/json", "{}"), "vnd.docker.reference.type", "attestation-manifest")
	const containerd = "io.containerd.image.name"
	for form, test := range map[string]struct {
		files Files
		want  []string
		same  v1.Hash // the digest that stays
	}{
		"docker save":               {Docker(t, "", tags, base, top), []string{"docker.io/shop/web:dev", "localhost/cart:1"}, v1.Hash{}},
		"docker save with links":    {linked, []string{"docker.io/shop/web:dev", "localhost/cart:1"}, v1.Hash{}},
		"with a compressed layer":   {packed, []string{"docker.io/shop/web:dev", "localhost/cart:1"}, v1.Hash{}},
		"docker 29 save":            {single.Layout(t, Named(single.Image(t, "", base), containerd, "docker.io/library/nginx:1.25")), []string{"docker.io/library/nginx:1.25"}, Files{}.Image(t, "", base).Digest},
		"docker 29, many platforms": {multi.Layout(t, attested, Named(index, containerd, "docker.io/shop/web:2")), []string{"docker.io/shop/web:2"}, index.Digest},
		"podman's oci-archive":      {podman.Layout(t, Named(podman.Image(t, "", top), images.NameAnnotation, "registry.example:5000/a/b:c")), []string{"registry.example:5000/a/b:c"}, Files{}.Image(t, "", top).Digest},
	} {
		t.Run(form, func(t *testing.T) {
			folder, _, err := gather(t, images.Options{Given: []string{test.files.Write(t, "web.tar")}}, inPod(test.want[0]))
			if err != nil {
				t.Fatal(err)
			}
			got := gathered(t, folder)
			if diff := cmp.Diff(test.want, names(got)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if test.same != (v1.Hash{}) && got[test.want[0]] != test.same {
				t.Errorf("digest %s, want %s", got[test.want[0]], test.same)
			}
		})
	}
}

func compressed(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestArchivesThatCannotBeUsed(t *testing.T) {
	layer := Layer(t, "text")
	damaged := Docker(t, "", []string{"web"}, layer)
	damaged[Digest(layer).Hex+"/layer.tar"] = Layer(t, "another text")
	cut := Files{}
	cut.Layout(t, Named(cut.Image(t, "", layer), images.NameAnnotation, "docker.io/web:1"))
	delete(cut, "blobs/sha256/"+Digest(layer).Hex)
	wrong := Files{}
	wrong.Layout(t, Named(wrong.Image(t, "", layer), images.NameAnnotation, "docker.io/web:1"))
	wrong["blobs/sha256/"+Digest(layer).Hex] = "damaged"
	foreign := Files{}
	foreign.Layout(t, foreign.Index(t, For(foreign.Image(t, other, layer), other)))
	fewer := Docker(t, "", []string{"web"}, layer)
	fewer["config.json"] = Config(t, "")
	loop := Docker(t, "", []string{"web"}, layer)
	loop[Digest(layer).Hex+"/layer.tar"] = Link + "layer.tar"
	for name, test := range map[string]struct {
		files Files
		want  string
	}{
		"of another platform":          {Docker(t, other, []string{"web"}, layer), "for linux/" + other + ", and the nodes are linux/" + runtime.GOARCH},
		"an index of other platforms":  {foreign, "for linux/" + other + ", and the nodes are linux/" + runtime.GOARCH},
		"a damaged layer":              {damaged, "it is damaged"},
		"a damaged blob":               {wrong, "it is damaged"},
		"a layer is missing":           {cut, "it is incomplete: it has no blobs/sha256/" + Digest(layer).Hex},
		"fewer layers than it says":    {fewer, "names 0 layers, and the archive has 1"},
		"a link to itself":             {loop, "it is incomplete"},
		"no archive of images":         {Files{"a": "b"}, "want a file that 'docker save' or 'podman save' wrote"},
		"nothing in it":                {Files{"manifest.json": "[]"}, "it holds no image"},
		"an archive with no documents": {Files{"manifest.json": "{"}, "manifest.json: unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := gather(t, images.Options{Given: []string{test.files.Write(t, "web.tar")}})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "web.tar") {
				t.Errorf("error %v, want one with web.tar and %q", err, test.want)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "web.tar.gz")
	if err := os.WriteFile(file, []byte(compressed(t, layer)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := gather(t, images.Options{Given: []string{file}}); err == nil || !strings.Contains(err.Error(), "unpack it with gunzip") {
		t.Errorf("a compressed archive: %v", err)
	}
}

// engine is a local engine with images in archives.
type engine map[string]string

func (e engine) Name() string { return "podman" }

func (e engine) Output(_ context.Context, args ...string) ([]byte, error) {
	switch args[0] {
	case "images":
		list := "<none>:<none>\n"
		for image := range e {
			list += image + "\n"
		}
		return []byte(list), nil
	case "image":
		if _, has := e[args[len(args)-1]]; has {
			return nil, nil
		}
	}
	return nil, errors.New("no such image")
}

func (e engine) Command(ctx context.Context, args ...string) *exec.Cmd {
	if args[0] != "save" || e[args[1]] == "" {
		return exec.CommandContext(ctx, "false")
	}
	return exec.CommandContext(ctx, "cat", e[args[1]])
}

func TestTheLocalEngine(t *testing.T) {
	web := Docker(t, "", []string{"localhost/shop/web:dev"}, Layer(t, "web")).Write(t, "save.tar")
	local := engine{"localhost/shop/web:dev": web, "docker.io/library/nginx:1.25": web}
	folder, notes, err := gather(t, images.Options{Engine: local, Given: []string{"nginx:1.25"}},
		inPod("shop/web:dev"), app.Reference{Image: "redis:6379", Use: app.Possible}, app.Reference{Image: "agent", Where: "a field", Use: app.Named})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"docker.io/library/nginx:1.25", "docker.io/shop/web:dev"}, names(gathered(t, folder))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "agent, wanted by a field") {
		t.Errorf("notes %q, want one about agent", notes)
	}
	if _, _, err := gather(t, images.Options{Engine: engine{"docker.io/web:1": "/none"}}, inPod("web:1")); err == nil ||
		!strings.Contains(err.Error(), "save docker.io/web:1 from podman") {
		t.Errorf("an engine that fails: %v", err)
	}
}

// A digest is never answered with another image, wherever it comes from.
func TestDigestsAreNotMadeUp(t *testing.T) {
	files := Files{}
	web := files.Image(t, "", Layer(t, "web"))
	oci := files.Layout(t, Named(web, "io.containerd.image.name", "docker.io/library/nginx:1.25")).Write(t, "oci.tar")
	docker := Docker(t, "", []string{"nginx:1.25"}, Layer(t, "web")).Write(t, "docker.tar")
	right, wrong := "nginx:1.25@"+web.Digest.String(), "nginx@"+Digest("another").String()
	folder, _, err := gather(t, images.Options{Given: []string{oci}}, inPod(right), inPod("mirror.example/nginx@"+web.Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	if _, has := gathered(t, folder)["mirror.example/nginx@"+web.Digest.String()]; !has {
		t.Errorf("gathered %v, and not the same digest under another name", names(gathered(t, folder)))
	}
	for name, test := range map[string]struct {
		o    images.Options
		want []string
	}{
		"an archive with digests":    {images.Options{Given: []string{oci}}, []string{"nginx:1.25 from oci.tar has digest " + web.Digest.String() + "; "}},
		"an archive without digests": {images.Options{Given: []string{docker}}, []string{"docker.io/library/nginx:1.25 from docker.tar has digest sha256:", "keeps no digests"}},
		"the local engine":           {images.Options{Engine: engine{"docker.io/library/" + wrong: docker}}, []string{"from the local engine has digest sha256:", "keeps no digests"}},
	} {
		folder, _, err := gather(t, test.o, inPod(wrong))
		for _, want := range append(test.want, wrong, "Deployment web", "pulling is off", "--image") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
		}
		if digest, has := gathered(t, folder)["docker.io/library/"+wrong]; has {
			t.Errorf("%s: it serves %s for %s", name, digest, wrong)
		}
	}
}

func TestMissingImagesAreListedWithTheirObjects(t *testing.T) {
	db := app.Reference{Image: "db", Where: "StatefulSet db (db.yaml:3): spec.containers[0].image", Use: app.InPod}
	_, _, err := gather(t, images.Options{}, inPod("shop/web:dev"), db, app.Reference{Image: "db", Where: "a variable", Use: app.Named}, inPod("No Image"))
	for _, want := range []string{
		"shop/web:dev, wanted by Deployment web (web.yaml:9): spec.containers[0].image: it is in no archive",
		"db, wanted by StatefulSet db (db.yaml:3): spec.containers[0].image and a variable: it is in no archive",
		"No Image, wanted by Deployment web (web.yaml:9): spec.containers[0].image: read the image's name",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// remoteRegistry is a registry on this machine. It tells what it was asked.
func remoteRegistry(t *testing.T) (host string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	serve := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	var mu sync.Mutex // layers are transferred at the same time
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		*asked = append(*asked, r.Method+" "+r.URL.Path)
		mu.Unlock()
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), asked
}

func TestImagesArePulledOnceByThisMachine(t *testing.T) {
	host, asked := remoteRegistry(t)
	image := randomImage(t, runtime.GOARCH)
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: randomImage(t, other), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: other}}},
		mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}})
	tag, err := name.ParseReference(host + "/shop/web:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(tag, index); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	byDigest := host + "/shop/web@" + digest.String()
	*asked = nil
	folder, notes, err := gather(t, images.Options{Pull: true}, inPod(tag.Name()), inPod(byDigest),
		app.Reference{Image: host + "/none:1", Where: "a field", Use: app.Named}, app.Reference{Image: host + "/secret:1", Use: app.Possible})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]v1.Hash{tag.Name(): digest, byDigest: digest}
	if diff := cmp.Diff(want, gathered(t, folder)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], host+"/none:1, wanted by a field") || !strings.Contains(notes[0], "its registry does not have it") {
		t.Errorf("notes %q", notes)
	}
	manifests := 0
	for _, request := range *asked {
		if strings.Contains(request, "/manifests/") && strings.Contains(request, "shop/web") {
			manifests++
		}
		if strings.Contains(request, "secret") {
			t.Errorf("a text that may be anything was told to a registry: %s", request)
		}
	}
	if manifests != 2 { // the index, and the part for this machine
		t.Errorf("it asked %v", *asked)
	}
	own, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	whole(t, folder, own)
}

func randomImage(t *testing.T, architecture string) v1.Image {
	t.Helper()
	image, err := random.Image(100, 2)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

func TestPullsThatFail(t *testing.T) {
	host, asked := remoteRegistry(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refusing.Close()
	away := httptest.NewServer(nil)
	away.Close()
	for name, test := range map[string]struct{ host, want string }{
		"it is not there":   {host, "its registry does not have it"},
		"it may not be had": {strings.TrimPrefix(refusing.URL, "http://"), "'docker login'"},
		"nobody answers":    {strings.TrimPrefix(away.URL, "http://"), "no registry answers"},
	} {
		_, _, err := gather(t, images.Options{Pull: true}, inPod(test.host+"/web:1"))
		for _, want := range []string{test.want, test.host + "/web:1, wanted by Deployment web", "'docker save'"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
		}
	}
	var said []string
	say := func(s string) { said = append(said, s) }
	gone := strings.TrimPrefix(away.URL, "http://")
	if _, _, err := gather(t, images.Options{Pull: true, Say: say}, inPod(gone+"/web:1"), inPod(gone+"/db:1")); err == nil ||
		strings.Count(err.Error(), "no registry answers") != 2 || len(said) != 1 {
		t.Errorf("a registry that is away was asked %q, %v", said, err)
	}
	*asked = nil
	if _, _, err := gather(t, images.Options{}, inPod(host+"/web:1")); err == nil || len(*asked) > 0 {
		t.Errorf("with pulling off: error %v, and the registry was asked %v", err, *asked)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("Ctrl-C"))
	if _, err := images.Gather(ended, []app.Reference{inPod(host + "/web:1")}, images.Options{Pull: true, Say: func(string) {}}, t.TempDir()); err == nil ||
		err.Error() != "Ctrl-C" {
		t.Errorf("interrupted: %v", err)
	}
}

func TestNames(t *testing.T) {
	digest := Digest("x").String()
	for image, want := range map[string]string{
		"nginx": "docker.io/library/nginx:latest", "nginx:1.22": "docker.io/library/nginx:1.22", "docker.io/library/nginx:1.22": "docker.io/library/nginx:1.22",
		"index.docker.io/shop/web": "docker.io/shop/web:latest", "localhost:5000/web": "localhost:5000/web:latest", "localhost/web": "localhost/web:latest",
		"web:1@" + digest: "docker.io/library/web@" + digest,
	} {
		if got, err := images.ParseName(image); err != nil || got.String() != want {
			t.Errorf("ParseName(%q) = %s, %v; want %s", image, got, err, want)
		}
	}
	for _, image := range []string{"", "A B", "web@sha256:0123", "web:" + strings.Repeat("a", 200)} {
		if got, err := images.ParseName(image); err == nil {
			t.Errorf("ParseName(%q) = %s, want an error", image, got)
		}
	}
}

func TestArchivesAndReferencesAreToldApart(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "saved"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{
		"shop/web:dev": "shop/web:dev", "web": "web", "registry.example/web:1.tar-free": "registry.example/web:1.tar-free",
		"web.tar": filepath.Join(folder, "web.tar"), "./web": filepath.Join(folder, "web"), "saved": filepath.Join(folder, "saved"), "/x/y": "/x/y",
	} {
		if got := images.Under(folder, given); got != want {
			t.Errorf("Under(%q) = %q, want %q", given, got, want)
		}
	}
}
