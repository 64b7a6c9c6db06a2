package maintenance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
)

// hull is a cluster without nodes and with an unreachable API server.
type hull struct {
	clusters.Cluster
	name string
}

func (h hull) Name() string         { return h.name }
func (hull) Nodes() []clusters.Node { return nil }
func (hull) Config() *rest.Config {
	return &rest.Config{Host: "https://api.test", TLSClientConfig: rest.TLSClientConfig{Insecure: true, CAData: []byte("ca")}}
}

// Heal continues after a cluster that cannot be healed, whose error names the next step.
func TestOneClusterThatCannotBeHealedKeepsNoneOfTheOthers(t *testing.T) {
	var asked []string
	err := Healer{Out: io.Discard, Open: func(_ context.Context, name string) (clusters.Cluster, error) {
		asked = append(asked, name)
		if name == "gone" {
			return nil, errors.New("open cluster gone: no such network")
		}
		return hull{name: name}, nil
	}}.Heal(t.Context(), []string{"gone", "odd"})
	if !slices.Equal(asked, []string{"gone", "odd"}) || err == nil {
		t.Fatalf("asked for %q: %v", asked, err)
	}
	for _, want := range []string{
		"open cluster gone: no such network; if it cannot be opened, remove it with 'holdfast down gone'", "heal cluster odd: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNoClusterNothingToHeal(t *testing.T) {
	var out bytes.Buffer
	if err := (Healer{Out: &out}).Heal(t.Context(), nil); err != nil || out.String() != "nothing to heal: there is no cluster\n" {
		t.Errorf("%v: %s", err, &out)
	}
}
