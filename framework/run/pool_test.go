package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
)

// hull is a cluster that has only a name.
type hull struct {
	clusters.Cluster
	name string
}

func (h hull) Name() string { return h.name }

// recorded is a pool whose clusters are hulls, and what it did with them.
func recorded() (*Pool, *[]string) {
	var did []string
	return &Pool{settings: &Settings{
		Started: time.Unix(0, 0),
		Open: func(_ context.Context, name string, _ clusters.Spec) (clusters.Cluster, error) {
			did = append(did, "open "+name)
			return hull{name: name}, nil
		},
		Close: func(_ context.Context, c clusters.Cluster) error {
			did = append(did, "close "+c.Name())
			return nil
		},
	}}, &did
}

// A cluster that cannot be given back is an error once, for whom it concerns, and is not used again.
func TestAClusterThatCannotBeGivenBack(t *testing.T) {
	p, did := recorded()
	lab, stock := clusters.Spec{Zones: []string{"a"}}, clusters.Spec{Zones: []string{"a"}, Profile: clusters.Stock}
	if _, err := p.get(t.Context(), lab); err != nil {
		t.Fatal(err)
	}
	p.settings.Close = func(context.Context, clusters.Cluster) error { return errors.New("no engine") }
	_, err := p.get(t.Context(), stock)
	errtest.Check(t, err, "give back cluster 0: no engine")
	if _, err := p.get(t.Context(), lab); err != nil {
		t.Errorf("the next: %v", err)
	}
	if got := strings.Join(*did, ", "); got != "open 0, open 0-2" {
		t.Errorf("got %s", got)
	}
}

func TestGivingBackAClusterHasALimitOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := recorded()
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := p.get(ctx, clusters.Spec{Zones: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		p.settings.Close = func(ctx context.Context, _ clusters.Cluster) error {
			<-ctx.Done()
			return ctx.Err()
		}
		cancel()
		began := time.Now()
		if err := p.Discard(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != discardLimit {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
