package nodeimage

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const envoySays = `{"Id":"sha256:eee","Size":200,"Config":{"Labels":null}}`

// haproxySays is the output of inspect for a replacement that a recipe built.
func haproxySays(id, recipe string) string {
	return `{"Id":"` + id + `","Size":120,"Config":{"Labels":{"` + LabelBalancer + `":"haproxy","` + labelRecipe + `":"` + recipe + `"}}}`
}

func TestEnsureBalancer(t *testing.T) {
	const noRoute = "echo 'dial tcp: connection refused' >&2; exit 125"
	ours := Balancer{Image: BalancerImage, Source: Present, Digest: "sha256:new", Program: HAProxy}
	kinds := Balancer{Image: BalancerImage, Source: Present, Digest: "sha256:eee", Program: Envoy}
	as := func(b Balancer, source Source) Balancer { b.Source = source; return b }
	for _, c := range []struct {
		name    string
		held    string // output of inspect before; empty: no image
		pull    string
		want    Balancer
		pulls   bool
		builds  bool
		removes string
	}{
		{name: "kind's own is there", held: envoySays, want: kinds},
		{name: "built before", held: haproxySays("new", balancerKey()), want: ours},
		{name: "a registry has it", pull: "exit 0", pulls: true, want: as(kinds, Pulled)},
		{name: "no registry answers", pull: noRoute, pulls: true, builds: true, want: as(ours, Built)},
		{name: "of another recipe, and a registry has kind's own", held: haproxySays("old", "old"), pull: "exit 0", pulls: true, want: as(kinds, Pulled)},
		{name: "of another recipe", held: haproxySays("old", "old"), pull: noRoute, pulls: true, builds: true, removes: "sha256:old", want: as(ours, Built)},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := balancerMachine(t)
			e := &fakeEngine{held: map[string]string{}, scripts: map[string]string{"pull": c.pull, "load": "cat >/dev/null"}}
			if c.held != "" {
				e.held[BalancerImage] = c.held
			}
			e.after = func(verb, _ string) {
				switch {
				case verb == "pull" && c.pull == "exit 0":
					e.held[BalancerImage] = envoySays
				case verb == "load":
					e.held[BalancerImage] = haproxySays("new", balancerKey())
				}
			}
			got, err := ensureBalancer(t.Context(), m.host(), e, Options{CacheDir: t.TempDir(), Progress: func(Step) {}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			asked := strings.Join(e.asked, "\n")
			if pulled := strings.Contains(asked, "pull "+BalancerImage); pulled != c.pulls {
				t.Errorf("pulled: %t", pulled)
			}
			if built := m.count("mmdebstrap") > 0; built != c.builds {
				t.Errorf("built: %t", built)
			}
			if removed := strings.Contains(asked, "image rm"); removed != (c.removes != "") || !strings.Contains(asked, c.removes) {
				t.Errorf("want %q removed: %s", c.removes, asked)
			}
		})
	}
}

// Another system than Linux has no replacement, and kind's own serves there too.
func TestEnsureBalancerOnAMac(t *testing.T) {
	m, o := balancerMachine(t), Options{CacheDir: t.TempDir(), Progress: func(Step) {}}
	m.system = "darwin"
	e := &fakeEngine{held: map[string]string{}, arch: "aarch64", scripts: map[string]string{"pull": "echo 'Error: manifest unknown' >&2; exit 125"}}
	_, err := ensureBalancer(t.Context(), m.host(), e, o)
	for _, want := range []string{"built only on Linux", "Error: manifest unknown", "'holdfast image save FILE --balancer'", "(linux/arm64)"} {
		if !strings.Contains(message(err), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if len(m.asked) > 0 {
		t.Errorf("a build was begun: %q", m.asked)
	}
	e.held[BalancerImage] = envoySays
	if held, err := ensureBalancer(t.Context(), m.host(), e, o); err != nil || held.Program != Envoy {
		t.Errorf("with kind's own: %+v, %v", held, err)
	}
}

// balancerMachine has what a build of the balancer needs.
func balancerMachine(t *testing.T) *machine {
	m := newMachine(t)
	m.files["/etc/os-release"] = debian12
	m.answers["apt-config"], m.answers["apt-get indextargets"] = answer{}, answer{text: targets}
	m.answers["mmdebstrap"] = answer{then: bootstraps}
	return m
}

// The archive for the engine has kind's image name, two layers, and labels that identify it as the replacement.
func TestBuildBalancer(t *testing.T) {
	m, archive := balancerMachine(t), filepath.Join(t.TempDir(), "archive.tar")
	e := &fakeEngine{scripts: map[string]string{"load": "cat > " + archive}}
	o := Options{CacheDir: t.TempDir(), Progress: func(Step) {}}
	if err := buildBalancer(t.Context(), m.host(), e, o); err != nil {
		t.Fatal(err)
	}
	for _, c := range m.calls {
		if strings.HasSuffix(c.name, "mmdebstrap") && !strings.Contains(strings.Join(c.args, " "), "--include=haproxy ") {
			t.Errorf("debootstrap %q", c.args)
		}
	}
	var config struct {
		Config struct {
			Labels     map[string]string
			Entrypoint []string
		}
	}
	manifest, layers := readArchive(t, archive, &config)
	if len(manifest) != 1 || len(manifest[0].Layers) != 2 || manifest[0].RepoTags[0] != BalancerImage {
		t.Fatalf("manifest %+v", manifest)
	}
	if diff := cmp.Diff(map[string]string{LabelBalancer: "haproxy", labelRecipe: balancerKey()}, config.Config.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if config.Config.Entrypoint != nil {
		t.Errorf("entry point %q: kind hands over a whole command", config.Config.Entrypoint)
	}
	upper := layers[manifest[0].Layers[1]]
	for _, want := range []string{"755 usr/local/bin/envoy ", "exec /usr/local/bin/holdfast balancer ", `755 usr/local/bin/holdfast "the program holdfast"`} {
		if !strings.Contains(upper, want) {
			t.Errorf("upper layer: no %s in %s", want, upper)
		}
	}
	if lower := layers[manifest[0].Layers[0]]; !strings.Contains(lower, "usr/bin/bash") {
		t.Errorf("lower layer: %s", lower)
	}
	again := m.count("mmdebstrap")
	if err := buildBalancer(t.Context(), m.host(), e, o); err != nil || m.count("mmdebstrap") != again {
		t.Errorf("a second build asked mmdebstrap again (%d, %d): %v", again, m.count("mmdebstrap"), err)
	}
	if left := unfinished(t, o.CacheDir); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

// The name is internal to kind. This test fails when a newer kind wants another image.
func TestBalancerImageIsThatOfKind(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(kindModuleDir(t), "pkg/cluster/internal/loadbalancer/const.go"))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`(?m)^const Image = "([^"]+)"$`).FindSubmatch(text)
	if match == nil || string(match[1]) != BalancerImage {
		t.Errorf("kind has %q, the recipe %s", match, BalancerImage)
	}
}
