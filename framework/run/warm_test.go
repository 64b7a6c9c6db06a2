package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
)

// shelf is one warm cluster with lab timings.
type shelf struct {
	name  string // empty once it was spoiled
	did   *[]string
	stuck bool // it cannot be spoiled
}

var errStuck = errors.New("read-only file system")

func (s *shelf) Find(_ context.Context, spec clusters.Spec) (string, error) {
	if spec.Profile != clusters.Lab {
		return "", nil
	}
	return s.name, nil
}

func (s *shelf) Spoil(name string) error {
	if s.stuck {
		return errStuck
	}
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

// Another run may take a warm cluster between the choice and the Lease. Then another cluster is chosen, but not for ever.
func TestAWarmClusterIsTakenByAnotherRun(t *testing.T) {
	for taken, want := range map[int]string{1: "open warm, close warm, open warm", 5: "open warm, close warm, open warm, close warm, open warm, close warm"} {
		p, did, _ := withWarm()
		left := taken
		p.settings.Hold = func(context.Context, clusters.Cluster) (*hold.Hold, error) {
			if left--; left >= 0 {
				return nil, &hold.HeldError{Cluster: "warm"}
			}
			return nil, nil
		}
		_, err := p.get(t.Context(), clusters.Spec{Zones: []string{"a"}})
		var held *hold.HeldError
		if failed := errors.As(err, &held); failed != (taken > warmAttempts) {
			t.Errorf("taken %d times: %v", taken, err)
		}
		if got := strings.Join(*did, ", "); got != want {
			t.Errorf("taken %d times: got  %s\nwant %s", taken, got, want)
		}
	}
}

// A warm cluster that is not as it was, and that cannot be given up, is not used again and not removed.
func TestAWarmClusterThatCannotBeGivenUp(t *testing.T) {
	for name, change := range map[string]func(p *pool, warm *aged) error{
		"broken": func(p *pool, _ *aged) error {
			return p.keepIfHealthy(t.Context(), func(context.Context) error { return errors.New("node w1 has Ready=False") })
		},
		"upgraded": func(p *pool, warm *aged) error {
			warm.version = "v1.37.0"
			return p.discard(t.Context())
		},
	} {
		p, did, warm := withWarm()
		stuck := p.settings.Warm.(*shelf)
		stuck.stuck = true
		if _, err := p.get(t.Context(), clusters.Spec{Zones: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		if err := change(p, warm); !errors.Is(err, errStuck) {
			t.Errorf("%s: %v", name, err)
		}
		stuck.name = "" // another run would learn from the Lease why it cannot use it
		if _, err := p.get(t.Context(), clusters.Spec{Zones: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(*did, ", "), "open warm, open 0"; got != want {
			t.Errorf("%s: got  %s\nwant %s", name, got, want)
		}
	}
}

// A warm cluster that another process has taken is neither given up nor removed, and this run holds it no more.
func TestAWarmClusterThatAnotherProcessHasTaken(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, p *pool, warm *aged) error{
		"broken": func(t *testing.T, p *pool, _ *aged) error {
			return p.keepIfHealthy(t.Context(), func(context.Context) error { return errors.New("node w1 has Ready=False") })
		},
		"upgraded": func(t *testing.T, p *pool, warm *aged) error {
			warm.version = "v1.37.0"
			return p.discard(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) { taken(t, end) })
	}
}

// taken checks how the use of a warm cluster ends that another process has taken.
func taken(t *testing.T, end func(t *testing.T, p *pool, warm *aged) error) {
	synctest.Test(t, func(t *testing.T) {
		p, did, warm := withWarm()
		fake := clustertest.New("warm", clusters.Spec{Zones: []string{"a"}})
		client, err := kubernetes.NewForConfig(fake.Config())
		if err != nil {
			t.Fatal(err)
		}
		p.settings.Hold = func(ctx context.Context, _ clusters.Cluster) (*hold.Hold, error) {
			return hold.Take(ctx, client, "r1", "holdfast run", hold.Options{Cluster: "warm"})
		}
		if _, err := p.get(t.Context(), clusters.Spec{Zones: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		if err := p.hold.Mark(t.Context(), "chaos/a: drain 1 worker"); err != nil {
			t.Fatal(err)
		}
		leases := client.CoordinationV1().Leases(hold.Namespace)
		list, err := leases.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		lease := list.Items[0]
		for key, value := range lease.Annotations {
			lease.Annotations[key] = strings.ReplaceAll(value, p.hold.Token(), "another's")
		}
		if _, err := leases.Update(t.Context(), &lease, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		lost := p.hold
		<-lost.Lost()
		if err := end(t, p, warm); !errors.Is(err, lost.Err()) {
			t.Errorf("got %v, want %v", err, lost.Err())
		}
		if got := strings.Join(*did, ", "); got != "open warm" || p.cluster != nil || p.hold != nil {
			t.Errorf("%s, and the pool has %v and holds %v", got, p.cluster, p.hold)
		}
	})
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
