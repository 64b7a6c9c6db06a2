package nodeimage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage/registry"
)

// told is what a forecast says, in short.
type told struct {
	Held    string
	Pull    int64
	Kept    string
	Missing string
	Blocked string
}

func tell(f Forecast) (t told) {
	names := func(parts []Part) string {
		var all []string
		for _, p := range parts {
			all = append(all, p.Name)
		}
		return strings.Join(all, " ")
	}
	t = told{Held: f.Held, Pull: f.PullBytes, Kept: names(f.Kept), Missing: names(f.Missing)}
	if f.Blocked != nil {
		t.Blocked = f.Blocked.Error()
	}
	return t
}

const allParts = "root file system kubernetes containerd runc cni etcd coredns"

func TestForesee(t *testing.T) {
	silent := func(context.Context, string, string) (int64, error) { return 0, registry.ErrNoRegistry }
	const goVersion = "go1.26.8"
	for name, test := range map[string]struct {
		version string
		held    string
		pull    func(context.Context, string, string) (int64, error)
		cache   []string
		change  func(m *machine)
		want    told
	}{
		"held":      {version: "v1.37.1", held: builtName("v1.37.1"), want: told{Held: builtName("v1.37.1")}},
		"held, too": {version: "v1.37.1", held: stockName("v1.37.1"), want: told{Held: stockName("v1.37.1")}},
		"kind's default is as good as any where no version is asked for": {held: registry.KindDefault(), want: told{Held: registry.KindDefault()}},
		"another version is held": {version: "v1.36.3", held: builtName("v1.37.1"), want: told{Missing: allParts}},
		"a registry has it": {
			pull: func(_ context.Context, image, arch string) (int64, error) {
				if image != stockName(DefaultKubernetes) || arch != "amd64" {
					return 0, errors.New("manifest unknown")
				}
				return 400_000_000, nil
			},
			want: told{Pull: 400_000_000},
		},
		"a registry has kind's default alone": {
			pull: func(_ context.Context, image, _ string) (int64, error) {
				if image != registry.KindDefault() {
					return 0, errors.New("manifest unknown")
				}
				return 300_000_000, nil
			},
			want: told{Pull: 300_000_000},
		},
		"a registry has kind's default, which is of another version": {
			version: "v1.36.3",
			pull: func(_ context.Context, image, _ string) (int64, error) {
				if image != registry.KindDefault() {
					return 0, errors.New("manifest unknown")
				}
				return 300_000_000, nil
			},
			want: told{Missing: allParts},
		},
		"nothing at all": {want: told{Missing: allParts}},
		"all but the image": {
			cache: []string{
				rootfsEntry("rootfs", debianSuite, packages, netfilterTar), kubernetes(DefaultKubernetes).entry(goVersion), containerd().entry(goVersion),
				runc().entry(goVersion), cniPlugins().entry(goVersion), etcd("v3.7.0-rc.1").entry(goVersion), coredns("v1.14.6").entry(goVersion),
			},
			want: told{Kept: allParts},
		},
		"of another version, toolchain, recipe or build": {
			cache: []string{
				kubernetes("v1.36.3").entry(goVersion), containerd().entry("go1.25.0"), "etcd-v3.7.0-0123456789ab", "coredns-", "coredns", "runc",
				rootfsEntry("rootfs-balancer", debianSuite, balancerPackages, ""), "tmp-123", "log",
			},
			want: told{Missing: allParts},
		},
		"some": {
			cache: []string{kubernetes(DefaultKubernetes).entry(goVersion), coredns("v1.13.0").entry(goVersion)},
			want:  told{Kept: "kubernetes coredns", Missing: "root file system containerd runc cni etcd"},
		},
		"not as another user": {
			change: func(m *machine) { m.uid = 1000 },
			want:   told{Missing: allParts, Blocked: "only root can make the root file system of a node"},
		},
		"as another user with what root has left": {
			change: func(m *machine) { m.uid = 1000 }, cache: []string{rootfsEntry("rootfs", debianSuite, packages, netfilterTar)},
			want: told{Kept: "root file system", Missing: strings.TrimPrefix(allParts, "root file system ")},
		},
		"not on another system": {
			change: func(m *machine) { m.system = "darwin" },
			want: told{Blocked: "the image is built only on Linux, and this is darwin, and no registry sent it: no registry answers: let the container " +
				"engine reach a registry that has it, or run 'holdfast image load FILE' with a file that 'holdfast image save FILE --kubernetes v1.37.1' " +
				"wrote on a Linux machine of the same architecture (linux/amd64)"},
		},
		"no Go": {
			change: func(m *machine) { m.missing = []string{"go"} },
			want:   told{Missing: allParts, Blocked: errNoGo.Error()},
		},
		"no apt": {
			change: func(m *machine) {
				delete(m.answers, "apt-get indextargets")
				m.files["/etc/os-release"] = "ID=fedora\n"
			},
			want: told{Missing: allParts, Blocked: "find a package mirror: apt on this machine (fedora) has no http or https source for its own release \"\"; " +
				"a node image is built from Debian's or Ubuntu's packages\nunexpected command: apt-get indextargets --no-release-info --format " +
				"$(REPO_URI) $(RELEASE) $(COMPONENT) $(SOURCESENTRY) Created-By: Packages"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, dir := balancerMachine(t), t.TempDir()
			if test.change != nil {
				test.change(m)
			}
			if test.pull == nil {
				test.pull = silent
			}
			for _, entry := range test.cache {
				if err := os.Mkdir(filepath.Join(dir, entry), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			e := &fakeEngine{held: map[string]string{}, arch: "x86_64"}
			if test.held != "" {
				e.held[test.held] = stockSays
			}
			f, err := foresee(t.Context(), m.host(), e, test.version, Options{CacheDir: dir}, test.pull)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, tell(f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The names of cache entries are those that a build gives them.
func TestForeseeAfterABuild(t *testing.T) {
	m, o := buildMachine(t), Options{CacheDir: t.TempDir()}
	e, _ := loads(t)
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	if _, err := build(t.Context(), m.host(), e, "v1.37.1", o); err != nil {
		t.Fatal(err)
	}
	f, err := foresee(t.Context(), m.host(), &fakeEngine{arch: "amd64"}, "v1.37.1", o, func(context.Context, string, string) (int64, error) {
		return 0, registry.ErrNoRegistry
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(told{Kept: allParts}, tell(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestForecastBuild(t *testing.T) {
	all := buildParts("v1.37.1", "go1.26.8", "bookworm")
	for name, test := range map[string]struct {
		missing     []Part
		cores       int
		pace        float64
		least, most time.Duration // in whole minutes
	}{
		"as measured":                {all, 2, 1, 6 * time.Minute, 10 * time.Minute},
		"a machine of half the pace": {all, 2, 2, 12 * time.Minute, 21 * time.Minute},
		"of unknown pace":            {all, 2, 0, 6 * time.Minute, 22 * time.Minute},
		"one core":                   {all, 1, 1, 11 * time.Minute, 20 * time.Minute},
		"eight cores":                {all, 8, 1, 2 * time.Minute, 3 * time.Minute},
		"more than help":             {all, 1000, 1, 1 * time.Minute, 2 * time.Minute},
		"the root file system":       {all[:1], 2, 1, 1 * time.Minute, 2 * time.Minute},
		"nothing but the assembly":   {nil, 2, 1, 1 * time.Minute, 1 * time.Minute},
		"no core at all":             {nil, 0, 1, 1 * time.Minute, 1 * time.Minute},
	} {
		least, most := Forecast{Missing: test.missing, Pace: test.pace}.Build(test.cores)
		if least.Round(time.Minute) != test.least || most.Round(time.Minute) != test.most {
			t.Errorf("%s: %s to %s, want %s to %s", name, least, most, test.least, test.most)
		}
	}
}
