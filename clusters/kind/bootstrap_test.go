package kind

import (
	"testing"
	"testing/synctest"

	"k8s.io/client-go/kubernetes/fake"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// kind starts Kubernetes where it does more than starting it.
func TestWhoStartsKubernetes(t *testing.T) {
	for _, tt := range []struct {
		ownNetwork    bool
		controlPlanes int
		want          bool
	}{{true, 1, true}, {false, 1, false}, {true, 3, false}} {
		spec := clusters.Spec{Zones: []string{"a"}, ControlPlanes: tt.controlPlanes}.WithDefaults()
		b := builder{record: clusterRecord{Spec: spec}, config: configure("x", spec, ground{ownNetwork: tt.ownNetwork})}
		if got := b.startsItself(); got != tt.want {
			t.Errorf("own network %t, %d control planes: %t", tt.ownNetwork, tt.controlPlanes, got)
		}
	}
}

// The witness is there when the nodes join. Where no node reports its images, the wait ends and says so.
func TestFirstWitness(t *testing.T) {
	client := scene()
	if err := firstWitness(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AppsV1().DaemonSets(systemNamespace).Get(t.Context(), witnessName, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		fails(t, firstWitness(t.Context(), fake.NewClientset()), "waited 3m0s for the first witness pod: last seen no node that reports its images "+
			"(N checks, last error: none): context deadline exceeded")
	})
}
