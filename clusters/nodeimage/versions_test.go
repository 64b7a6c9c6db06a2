package nodeimage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
)

// moduleRoot is where go.mod lies.
const moduleRoot = "../.."

// The image must be made from the files of the same version of kind that creates the clusters.
func TestKindVersionIsThatOfGoMod(t *testing.T) {
	if got := required(t, kindModule); got != kindVersion {
		t.Errorf("go.mod has %q, the recipe %s", got, kindVersion)
	}
}

// required is the version of a module that go.mod requires; empty if it does not.
func required(t *testing.T, module string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, require := range file.Require {
		if require.Mod.Path == module {
			return require.Mod.Version
		}
	}
	return ""
}

// kind tests containerd, runc and the CNI plugins together in the versions that its Dockerfile names.
func TestVersionsAreThoseOfKind(t *testing.T) {
	kind := kindModuleDir(t)
	text, err := os.ReadFile(filepath.Join(kind, "images", "base", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for argument, ours := range map[string]string{
		"CONTAINERD_VERSION": containerdVersion, "RUNC_VERSION": runcVersion, "CNI_PLUGINS_VERSION": cniVersion,
	} {
		match := regexp.MustCompile(`(?m)^ARG ` + argument + `="?([^"\s]+)"?$`).FindSubmatch(text)
		if match == nil || string(match[1]) != ours {
			t.Errorf("%s: kind has %q, the recipe %s", argument, match, ours)
		}
	}
}

// kindModuleDir is kind's module as this test was built with it.
func kindModuleDir(t *testing.T) string {
	t.Helper()
	found, err := findKindOnce()
	if err != nil {
		t.Skip(err)
	}
	return found.Dir
}

var findKindOnce = sync.OnceValues(func() (module, error) {
	golang, err := newGoTool(context.Background(), thisHost(), "")
	if err != nil {
		return module{}, err
	}
	return golang.download(context.Background(), kindModule, kindVersion)
})

func TestReleases(t *testing.T) {
	m := newMachine(t)
	m.answers["go list -m -json -versions k8s.io/api"] = answer{text: `{"Versions":["v0.36.3","v0.37.0-rc.1","v0.37.0","v0.37.10","v0.37.2","v1.5.0"]}`}
	got, err := m.golang(t).releases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1.37.10", "v1.37.2", "v1.37.0", "v1.36.3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestServable(t *testing.T) {
	const path = "example.org/etcd"
	refuse := answer{text: `{"Error":"403"}`, err: errors.New("exit status 1")}
	for _, c := range []struct {
		name   string
		served string
		want   string
		fails  string
	}{
		{name: "the wanted one", served: "v3.6.8", want: "v3.6.8"},
		{name: "the next patch but one", served: "v3.6.13", want: "v3.6.13"},
		{name: "never another minor version", served: "v3.7.0", fails: "403; no later patch release can be downloaded either"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			m.answers["go list -m -json -versions "+path] = answer{text: `{"Versions":["v3.6.7","v3.6.13","v3.6.8","v3.6.12","v3.6.14-rc.0","v3.7.0"]}`}
			m.answers["go mod download -json "+path] = refuse
			m.answers["go mod download -json "+path+"@"+c.served] = answer{text: `{"Dir":"/m","Version":"` + c.served + `"}`}
			got, err := m.golang(t).servable(t.Context(), path, "v3.6.8")
			if got.Version != c.want || (err == nil) != (c.fails == "") || err != nil && err.Error() != c.fails {
				t.Errorf("got %q, %v; want %q, %q", got.Version, err, c.want, c.fails)
			}
		})
	}
}
