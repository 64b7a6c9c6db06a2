package run

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters"
)

// shelf is one warm cluster with lab timings.
type shelf struct {
	name string // empty once it was spoiled
	did  *[]string
}

func (s *shelf) Find(_ context.Context, spec clusters.Spec) (string, error) {
	if spec.Profile != clusters.Lab {
		return "", nil
	}
	return s.name, nil
}

func (s *shelf) Spoil(name string) error {
	*s.did = append(*s.did, "spoil "+name)
	s.name = ""
	return nil
}

// aged is a cluster in a version of Kubernetes.
type aged struct {
	hull
	version string
}

func (a *aged) Spec() clusters.Spec { return clusters.Spec{Kubernetes: a.version} }

// withWarm is a pool with a warm cluster beside those that it can make.
func withWarm() (*pool, *[]string, *aged) {
	p, did := recorded()
	warm := &aged{hull{name: "warm"}, "v1.36.0"}
	make := p.settings.Open
	p.settings.Open = func(ctx context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
		if name == warm.name {
			*did = append(*did, "open "+name)
			return warm, nil
		}
		return make(ctx, name, spec)
	}
	p.settings.Warm = &shelf{name: warm.name, did: did}
	return p, did, warm
}

func TestAWarmClusterIsUsedInPlaceOfANewOne(t *testing.T) {
	lab, stock := clusters.Spec{Zones: []string{"a"}}, clusters.Spec{Zones: []string{"a"}, Profile: clusters.Stock}
	for name, test := range map[string]struct {
		use  func(t *testing.T, p *pool, warm *aged)
		want string
	}{
		"and is given back": {
			func(t *testing.T, p *pool, _ *aged) {
				for _, spec := range []clusters.Spec{lab, stock, lab} {
					if _, err := p.get(t.Context(), spec); err != nil {
						t.Fatal(err)
					}
				}
			},
			"open warm, close warm, open 0, close 0, open warm, close warm",
		},
		"and is given up when it is not as it was": {
			func(t *testing.T, p *pool, _ *aged) {
				broken := errors.New("node w1 has Ready=False")
				if _, err := p.get(t.Context(), lab); err != nil {
					t.Fatal(err)
				}
				if err := p.keepIfHealthy(t.Context(), func(context.Context) error { return broken }); !errors.Is(err, broken) {
					t.Errorf("got %v, want the reason", err)
				}
				if _, err := p.get(t.Context(), lab); err != nil {
					t.Fatal(err)
				}
			},
			"open warm, spoil warm, close warm, open 0, close 0",
		},
		"and is given up once it was upgraded": {
			func(t *testing.T, p *pool, warm *aged) {
				if _, err := p.get(t.Context(), lab); err != nil {
					t.Fatal(err)
				}
				warm.version = "v1.37.0"
			},
			"open warm, spoil warm, close warm",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, did, warm := withWarm()
			test.use(t, p, warm)
			if err := p.discard(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(*did, ", "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// What has to be done with a warm cluster before the process ends is not its removal.
func TestAWarmClusterIsGivenBack(t *testing.T) {
	p := &pool{settings: &Settings{Keep: true}}
	if got := p.pending("warm", true).Undo; got != "give cluster warm back" {
		t.Errorf("%q", got)
	}
	if got := p.pending("new", false).Undo; got != "leave cluster new as it was" {
		t.Errorf("%q", got)
	}
}

func TestWarmClustersThatCannotBeListed(t *testing.T) {
	p, did := recorded()
	p.settings.Warm = broken{}
	if _, err := p.get(t.Context(), clusters.Spec{Zones: []string{"a"}}); err == nil || err.Error() != "read the folder" || len(*did) != 0 {
		t.Errorf("%v after %q", err, *did)
	}
}

type broken struct{}

func (broken) Find(context.Context, clusters.Spec) (string, error) {
	return "", errors.New("read the folder")
}
func (broken) Spoil(string) error { return nil }
