package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
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

// healAll continues after a cluster that cannot be healed, whose error names the next step.
func TestOneClusterThatCannotBeHealedKeepsNoneOfTheOthers(t *testing.T) {
	var asked []string
	err := healAll(t.Context(), &bytes.Buffer{}, []string{"gone", "odd"}, func(_ context.Context, name string) (clusters.Cluster, error) {
		asked = append(asked, name)
		if name == "gone" {
			return nil, errors.New("open cluster gone: no such network")
		}
		return hull{name: name}, nil
	})
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
	if err := healAll(t.Context(), &out, nil, nil); err != nil || out.String() != "nothing to heal: there is no cluster\n" {
		t.Errorf("%v: %s", err, &out)
	}
}

// heal requires either names or --all, and not both.
func TestHealWantsToKnowWhich(t *testing.T) {
	for _, args := range [][]string{{"heal"}, {"heal", "demo", "--all"}} {
		c := Command("v1")
		c.SetArgs(args)
		c.SetOut(&bytes.Buffer{})
		if err := c.ExecuteContext(t.Context()); ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), "name clusters, or give --all") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// The summary names unsupported scenarios and does not count them.
func TestWhatIsNotSupportedIsNamed(t *testing.T) {
	got := summary(history.RunFile{Scenarios: []history.ScenarioResult{
		{Name: "chaos/a", Outcome: "held"}, {Name: "chaos/latency", NotSupported: "no netem"},
	}})
	const want = "1 scenario held, 0 violated, 0 unknown; not supported here: chaos/latency"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
