package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// built is the image that this holdfast builds for a version, on a machine of the given architecture.
func built(version, recipe, arch string) Saved {
	return Saved{
		Name: builtRepository + ":" + version + "-" + recipe, OS: "linux", Architecture: arch,
		Labels: map[string]string{labelKubernetes: version, labelRecipe: recipe, labelNetwork: "agent"},
	}
}

func replacement(recipe string) Saved {
	return Saved{
		Name: BalancerImage, OS: "linux", Architecture: "amd64", Labels: map[string]string{LabelBalancer: HAProxy, labelRecipe: recipe},
	}
}

// saysOf is the output of inspect for a saved image.
func saysOf(parts []savedPart, image Saved) string {
	var labels []string
	for key, value := range image.Labels {
		labels = append(labels, fmt.Sprintf("%q:%q", key, value))
	}
	return fmt.Sprintf(`{"Id":%q,"Size":686,"Config":{"Labels":{%s}}}`, strings.TrimPrefix(idOf(parts), "sha256:"), strings.Join(labels, ","))
}

func saveTo(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "node.tar")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// What one engine saves, another one loads, once.
func TestSaveAndLoad(t *testing.T) {
	image := built("v1.37.0", recipeKey("v1.37.0"), "amd64")
	parts := savedParts(t, image)
	from := &fakeEngine{
		held:    map[string]string{image.Name: saysOf(parts, image)},
		scripts: map[string]string{"save": "cat " + saveTo(t, tarOf(t, parts))},
	}
	path := filepath.Join(t.TempDir(), "node.tar.zst")
	saved, err := Save(t.Context(), from, "v1.37.0", path, Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if saved.Name != image.Name || saved.SizeBytes == 0 || saved.ID != idOf(parts) {
		t.Errorf("saved %+v", saved)
	}

	got := filepath.Join(t.TempDir(), "got")
	to := &fakeEngine{held: map[string]string{}, arch: "amd64", scripts: map[string]string{"load": "cat > " + got}}
	to.after = func(verb, _ string) {
		if verb == "load" {
			to.held[image.Name] = saysOf(parts, image)
		}
	}
	want := Ref{Image: image.Name, Kubernetes: "v1.37.0", Digest: idOf(parts), Network: NetworkAgent}
	for _, source := range []Source{Loaded, Present} {
		want.Source = source
		ref, err := load(t.Context(), to, path, Options{CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, ref); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
	if loads := strings.Count(strings.Join(to.asked, "\n"), "load"); loads != 1 {
		t.Errorf("loaded %d times", loads)
	}
	if content, err := os.ReadFile(got); err != nil || string(content) != string(tarOf(t, parts)) {
		t.Errorf("the engine got %d bytes, %v", len(content), err)
	}
	ref, err := ensure(t.Context(), host{system: "linux"}, to, "v1.37.0", func(context.Context, string) (Ref, error) {
		return Ref{}, errors.New("it would be built")
	})
	if err != nil || ref.Image != image.Name {
		t.Errorf("what was loaded is not taken: %+v, %v", ref, err)
	}
}

// No engine gets anything of a file that is refused.
func TestLoadRefuses(t *testing.T) {
	good := built("v1.37.0", recipeKey("v1.37.0"), "amd64")
	whole := tarOf(t, savedParts(t, good))
	of := func(image Saved) []byte { return tarOf(t, savedParts(t, image)) }
	with := func(edit func(*Saved)) []byte {
		image := good
		edit(&image)
		return of(image)
	}
	for name, test := range map[string]struct {
		content []byte
		held    string // under the balancer's name
		arch    string
		want    string
	}{
		"cut off":              {content: whole[:len(whole)/2], want: "check the file: it is cut off"},
		"another architecture": {content: of(built("v1.37.0", "abc", "arm64")), want: good.Name[:len(builtRepository)] + ":v1.37.0-abc is an image for linux/arm64, and fake runs linux/amd64 here: save one on a machine of that architecture"},
		"an engine elsewhere":  {content: whole, arch: "aarch64", want: "is an image for linux/amd64, and fake runs linux/arm64 here"},
		"no answer":            {content: whole, arch: " ", want: "ask fake for its architecture: it reports none"},
		"another system":       {content: with(func(i *Saved) { i.OS = "windows" }), want: "is an image for windows/amd64"},
		"another recipe":       {content: of(built("v1.37.0", "abc", "amd64")), want: `is of recipe "abc", and this holdfast uses recipe "` + recipeKey("v1.37.0") + `" alone: save it with the version of holdfast that loads it, or make it here with 'holdfast image get --kubernetes v1.37.0'`},
		"a name that its labels contradict": {
			content: with(func(i *Saved) { i.Name = builtRepository + ":v1.36.3-" + recipeKey("v1.37.0") }),
			want:    "which its name contradicts",
		},
		"no labels":              {content: with(func(i *Saved) { i.Labels = nil }), want: `the labels of Kubernetes "" and recipe ""`},
		"of another program":     {content: with(func(i *Saved) { i.Name = "example.com/shop/web:1" }), want: "example.com/shop/web:1 is neither the image of a node nor the load balancer"},
		"one that only looks so": {content: with(func(i *Saved) { i.Name = "example.com/kindest/node:v1.37.0" }), want: "is neither the image of a node"},
		"no version":             {content: with(func(i *Saved) { i.Name = "kindest/node:latest" }), want: `kubernetes version "latest"`},
		"another balancer":       {content: of(replacement("abc")), want: `is of recipe "abc"`},
		"no replacement needed":  {content: of(replacement(balancerKey())), held: envoySays, want: "fake holds kind's own load balancer, and the file has haproxy"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &fakeEngine{held: map[string]string{}, arch: "amd64", scripts: map[string]string{"load": "cat >/dev/null"}}
			if test.held != "" {
				e.held[BalancerImage] = test.held
			}
			if test.arch != "" {
				e.arch = test.arch
			}
			ref, err := load(t.Context(), e, saveTo(t, test.content), Options{CacheDir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %+v, %v\nwant %s", ref, err, test.want)
			}
			for _, asked := range e.asked {
				if strings.HasPrefix(asked, "load") || strings.HasPrefix(asked, "image rm") || strings.HasPrefix(asked, "tag") {
					t.Errorf("the engine was told to %s", asked)
				}
			}
		})
	}
}

// kind's own images do not have holdfast's labels.
func TestLoadTakesStockImages(t *testing.T) {
	for name, want := range map[string]Ref{
		"kindest/node:v1.37.0":           {Image: stockName("v1.37.0"), Kubernetes: "v1.37.0", Network: NetworkKindnet},
		"docker.io/kindest/node:v1.36.3": {Image: stockName("v1.36.3"), Kubernetes: "v1.36.3", Network: NetworkKindnet},
		"envoyproxy/envoy:v1.36.2":       {Image: BalancerImage},
		BalancerImage:                    {Image: BalancerImage},
	} {
		image := Saved{Name: name, OS: "linux", Architecture: "amd64"}
		parts := savedParts(t, image)
		e := &fakeEngine{held: map[string]string{}, arch: "x86_64", scripts: map[string]string{"load": "cat >/dev/null"}}
		e.after = func(string, string) { e.held[want.Image] = saysOf(parts, image) }
		ref, err := load(t.Context(), e, saveTo(t, tarOf(t, parts)), Options{CacheDir: t.TempDir()})
		want.Source, want.Digest = Loaded, idOf(parts)
		if diff := cmp.Diff(want, ref); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestSaveRefuses(t *testing.T) {
	stop := errors.New("Ctrl-C")
	stopped, end := context.WithCancelCause(t.Context())
	end(stop)
	name := builtName("v1.37.0")
	for title, test := range map[string]struct {
		ctx     context.Context
		version string
		script  string
		want    string
	}{
		"none is held":      {t.Context(), "v1.36.3", "", "fake holds no node image of Kubernetes v1.36.3: get or build it with 'holdfast image get --kubernetes v1.36.3'"},
		"no version":        {t.Context(), "1.37", "", `kubernetes version "1.37"`},
		"the engine fails":  {t.Context(), "v1.37.0", "echo half; echo no such layer >&2; exit 125", "run fake save: exit status 125:\n  no such layer"},
		"it saves too much": {t.Context(), "v1.37.0", "echo something else", "it is cut off"},
		"interrupted":       {stopped, "v1.37.0", "sleep 300", "Ctrl-C"},
	} {
		t.Run(title, func(t *testing.T) {
			dir := t.TempDir()
			e := &fakeEngine{held: map[string]string{name: builtSays}, scripts: map[string]string{"save": test.script}}
			_, err := Save(test.ctx, e, test.version, filepath.Join(dir, "node.tar.zst"), Options{CacheDir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
			if left := inFolder(t, dir); left != nil {
				t.Errorf("left %q", left)
			}
		})
	}
}

// kind's default image is known by its digest, which no file keeps.
func TestSaveOfAnImageWithoutATag(t *testing.T) {
	image := Saved{Name: kindDefaultTag(), OS: "linux", Architecture: "amd64"}
	parts := savedParts(t, image)
	e := &fakeEngine{
		held:    map[string]string{kindDefault(): saysOf(parts, image)},
		scripts: map[string]string{"save": "cat " + saveTo(t, tarOf(t, parts))},
	}
	saved, err := Save(t.Context(), e, "", filepath.Join(t.TempDir(), "node.tar.zst"), Options{CacheDir: t.TempDir()})
	if err != nil || saved.Name != kindDefaultTag() {
		t.Errorf("%+v, %v", saved, err)
	}
	if asked := strings.Join(e.asked, "\n"); !strings.Contains(asked, "tag "+kindDefault()+" "+kindDefaultTag()) {
		t.Errorf("it got no tag: %s", asked)
	}
	e.held = map[string]string{kindDefaultTag(): saysOf(parts, image)} // as Load leaves it
	if ref, held, err := present(t.Context(), e, ""); err != nil || !held || ref.Image != kindDefaultTag() {
		t.Errorf("what was loaded is not taken: %+v, %v", ref, err)
	}
}

func TestSaveBalancer(t *testing.T) {
	image := replacement(balancerKey())
	parts := savedParts(t, image)
	for says, want := range map[string]string{
		saysOf(parts, image): "", "": "fake does not hold the load balancer that this holdfast uses", haproxySays("old", "old"): "'holdfast image balancer'",
	} {
		e := &fakeEngine{held: map[string]string{}, scripts: map[string]string{"save": "cat " + saveTo(t, tarOf(t, parts))}}
		if says != "" {
			e.held[BalancerImage] = says
		}
		saved, err := SaveBalancer(t.Context(), e, filepath.Join(t.TempDir(), "balancer.tar.zst"), Options{CacheDir: t.TempDir()})
		if want == "" && (err != nil || saved.Name != BalancerImage) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v, %v", says, saved, err)
		}
	}
}
