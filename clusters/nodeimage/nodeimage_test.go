package nodeimage

import (
	"context"
	"embed"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters/balancer"
	"github.com/holdfast-ha/holdfast/clusters/nodenet"
)

const (
	builtSays = `{"Id":"aaa","Size":600,"Created":"2026-01-02T03:04:05Z","Config":{"Labels":{"holdfast.dev/kubernetes":"v1.37.1","holdfast.dev/network":"agent"}}}`
	stockSays = `{"Id":"sha256:bbb","Size":900,"Config":{"Labels":null}}`
)

func TestEnsure(t *testing.T) {
	ours, stock, kinds := builtName(DefaultKubernetes), stockName(DefaultKubernetes), kindDefault()
	const noRoute = "echo 'Error: initializing source: pinging container registry: dial tcp: connection refused' >&2; exit 125"
	const absent = "echo 'Error: manifest unknown' >&2; exit 125"
	only := func(image, says string) string { // a registry with one image
		return `[ "$1" = "` + image + `" ] && exit 0; ` + absent
	}
	for _, c := range []struct {
		name    string
		version string
		held    map[string]string
		pull    string
		pulled  string // what the engine holds after a pull
		want    Ref
		built   bool
	}{
		{
			name: "built before", held: map[string]string{ours: builtSays, stock: stockSays},
			want: Ref{Image: ours, Kubernetes: "v1.37.1", Source: Present, Digest: "sha256:aaa", Network: NetworkAgent},
		},
		{
			name: "kindest/node is there", version: DefaultKubernetes, held: map[string]string{stock: stockSays},
			want: Ref{Image: stock, Kubernetes: "v1.37.1", Source: Present, Digest: "sha256:bbb", Network: NetworkKindnet},
		},
		{
			name: "a registry has it", version: DefaultKubernetes, pull: only(stock, stockSays), pulled: stock,
			want: Ref{Image: stock, Kubernetes: "v1.37.1", Source: Pulled, Digest: "sha256:bbb", Network: NetworkKindnet},
		},
		{
			name: "a registry has kind's default only", pull: only(kinds, stockSays), pulled: kinds,
			want: Ref{Image: kinds, Kubernetes: "v1.37.0", Source: Pulled, Digest: "sha256:bbb", Network: NetworkKindnet},
		},
		{name: "a registry has no such version", version: "v1.36.3", pull: absent, built: true},
		{name: "no registry answers", pull: noRoute, built: true},
		{name: "an engine that would try again", pull: "echo 'level=warning msg=\"Failed, retrying in 1s ... (1/3)\"' >&2; sleep 60", built: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &fakeEngine{held: c.held, scripts: map[string]string{"pull": c.pull}}
			e.after = func(verb, image string) {
				if verb == "pull" && image == c.pulled {
					e.held = map[string]string{image: stockSays}
				}
			}
			var built string
			begun := time.Now()
			got, err := ensure(t.Context(), host{system: "linux"}, e, c.version, func(_ context.Context, version string) (Ref, error) {
				built = version
				return Ref{Source: Built}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if (built != "") != c.built {
				t.Errorf("built %q; want a build: %v", built, c.built)
			}
			if diff := cmp.Diff(c.want, got); !c.built && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("took %s: the engine's own retries were waited for", took)
			}
		})
	}
}

// A registry that does not answer for one image is not asked for a second.
func TestEnsureAsksASilentRegistryOnce(t *testing.T) {
	e := &fakeEngine{scripts: map[string]string{"pull": "exit 1"}}
	_, err := ensure(t.Context(), host{system: "linux"}, e, "", func(context.Context, string) (Ref, error) { return Ref{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	pulls := slices.DeleteFunc(e.asked, func(line string) bool { return !strings.HasPrefix(line, "pull") })
	if len(pulls) != 1 {
		t.Errorf("asked %q", pulls)
	}
}

func TestList(t *testing.T) {
	ours, old, stock := builtName("v1.37.1"), builtRepository+":v1.37.1-0ld", "registry.example/kindest/node:v1.36.3"
	e := &fakeEngine{held: map[string]string{ours: builtSays, old: builtSays, stock: stockSays}}
	got, err := List(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	built := func(name string, current bool) Held {
		return Held{Ref: Ref{Image: name, Kubernetes: "v1.37.1", Source: Present, Digest: "sha256:aaa", Network: NetworkAgent},
			SizeBytes: 600, Created: created, Current: current}
	}
	want := []Held{
		{Ref: Ref{Image: stock, Kubernetes: "v1.36.3", Source: Present, Digest: "sha256:bbb", Network: NetworkKindnet}, SizeBytes: 900, Current: true},
		built(old, false), built(ours, true),
	}
	slices.SortFunc(want, func(a, b Held) int { return strings.Compare(a.Image, b.Image) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if none, err := List(t.Context(), &fakeEngine{}); err != nil || none != nil {
		t.Errorf("from an empty engine: %v, %v", none, err)
	}
}

func TestRecipeKey(t *testing.T) {
	first := recipeKey("v1.37.1")
	if again := recipeKey("v1.37.1"); again != first {
		t.Errorf("the same recipe has two keys: %s, %s", first, again)
	}
	if recipeKey("v1.37.0") == first {
		t.Error("two versions have one key")
	}
}

// The images are built again when their part of holdfast changes, but not when only its tests change.
func TestContentsOfSources(t *testing.T) {
	for file, source := range map[string]embed.FS{"nodenet.go": nodenet.Source, "balancer.go": balancer.Source} {
		have := contents(source)
		if !slices.Contains(have, file) {
			t.Errorf("no %s", file)
		}
		for _, name := range have {
			if strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s is part of the key", name)
			}
		}
	}
}

func TestUnitRunsTheCommand(t *testing.T) {
	unit, err := ours.ReadFile("files/etc/systemd/system/holdfast-net.service")
	if want := "ExecStart=/usr/local/bin/holdfast " + nodenet.Command + "\n"; err != nil || !strings.Contains(string(unit), want) {
		t.Errorf("%v; want %s in\n%s", err, want, unit)
	}
}
