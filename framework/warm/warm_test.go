package warm_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/warm"
)

// provider counts the clusters that exist.
type provider struct {
	exist []string
	fail  bool
}

func (p *provider) settings() run.Settings {
	return run.Settings{
		Open: func(_ context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
			p.exist = append(p.exist, name)
			return clustertest.New(name, spec), nil
		},
		Close: func(_ context.Context, c clusters.Cluster) error {
			if p.fail {
				return errors.New("the engine does not answer")
			}
			p.exist = slices.DeleteFunc(p.exist, func(name string) bool { return name == c.Name() })
			return nil
		},
	}
}

// open is a run that asks for a cluster and gives it back.
func open(t *testing.T, w *warm.Cluster, p *provider, name string, spec clusters.Spec) clusters.Cluster {
	t.Helper()
	s := p.settings()
	w.Use(&s)
	c, err := s.Open(t.Context(), name, spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

var three = clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 1}.WithDefaults()

func TestRunsShareACluster(t *testing.T) {
	var w warm.Cluster
	var p provider
	first := open(t, &w, &p, "one", three)
	if second := open(t, &w, &p, "two", three); second != first {
		t.Errorf("the second run got %s", second.Name())
	}
	if err := errors.Join(w.Remove(t.Context()), w.Remove(t.Context())); err != nil {
		t.Error(err)
	}
	if len(p.exist) > 0 {
		t.Errorf("left: %v", p.exist)
	}
}

// A cluster that is not what the next run needs is replaced, and never two exist.
func TestAnotherClusterReplacesTheFirst(t *testing.T) {
	small := clusters.Spec{Zones: []string{"a"}, WorkersPerZone: 1}.WithDefaults()
	for why, test := range map[string]struct {
		change func(*clustertest.Cluster)
		next   clusters.Spec
	}{
		"another spec": {func(*clustertest.Cluster) {}, small},
		"a cordoned node": {func(c *clustertest.Cluster) {
			c.EditNode(c.Nodes()[1].Name(), func(n *corev1.Node) { n.Spec.Unschedulable = true })
		}, three},
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // a cluster gets time to become as it was
				var w warm.Cluster
				var p provider
				test.change(open(t, &w, &p, "one", three).(*clustertest.Cluster))
				open(t, &w, &p, "two", test.next)
				if diff := cmp.Diff([]string{"two"}, p.exist); diff != "" {
					t.Errorf("clusters (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAClusterThatCannotBeRemovedIsNamed(t *testing.T) {
	var w warm.Cluster
	p := provider{fail: true}
	open(t, &w, &p, "one", three)
	if err := w.Remove(t.Context()); err == nil || err.Error() != "remove cluster one: the engine does not answer" {
		t.Errorf("got %v", err)
	}
}
