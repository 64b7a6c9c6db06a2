package scenario_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// The error for a cluster that does not fit names the difference and the next step. It once printed two Go structs of 250 characters.
func TestAClusterThatDoesNotFit(t *testing.T) {
	labelled := scenario.Standing
	labelled.PerWorker = map[string][]string{"rack": {"r1", "r2"}}
	loaded := clusters.Spec{Kubernetes: "v1.37.1", Zones: []string{"a", "b"}, LoadOnWorkers: 2}.WithDefaults()
	all := []scenario.Spec{{Name: "chaos/one", Cluster: scenario.Standing}, {Name: "chaos/two", Cluster: labelled}, {Name: "mutants/three", Cluster: scenario.Standing}, {Name: "chaos/four", Cluster: loaded}}
	small := clusters.Spec{Kubernetes: "v1.37.1", Zones: []string{"a", "b"}}.WithDefaults()
	for i, want := range map[int]string{
		0: "cluster demo has zones a,b with 1 worker each; chaos/one needs zones a,b,c with 2 workers each: make such a cluster with 'holdfast up NAME'",
		1: "cluster demo has zones a,b with 1 worker each, no extra labels on workers; chaos/two needs zones a,b,c with 2 workers each, " +
			"workers labelled rack=r1,r2: make such a cluster with 'holdfast up NAME --for chaos/two'",
		3: "cluster demo has load on 0 workers; chaos/four needs load on 2 workers: make such a cluster with 'holdfast up NAME --for chaos/four'",
	} {
		if _, _, err := scenario.ChooseFor("demo", small, all[i:i+1], clusters.Spec.WithDefaults, true); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if said := scenario.Suggest("demo", small, all); said != "  no scenario fits it; 2 fit the cluster of 'holdfast up demo', and --for SCENARIO makes the cluster that a scenario needs\n" {
		t.Errorf("up says %s", said)
	}
	if said := scenario.Suggest("demo", scenario.Standing, all); said != "  holdfast run --cluster demo chaos/one   # one of 2 scenarios, of 4, that fit it\n" {
		t.Errorf("up says %s", said)
	}
}

// A scenario with simulated nodes fits a cluster with another number of them, if the run is told that number.
func TestSuggestAmongSimulatedNodes(t *testing.T) {
	need := clusters.Spec{Zones: []string{"a"}, SimulatedNodes: 100}.WithDefaults()
	all := []scenario.Spec{{Name: "chaos/one", Cluster: scenario.Standing}, {Name: "scale/two", Cluster: need}}
	has := need
	has.Kubernetes = "v1.37.1"
	for nodes, want := range map[int]string{
		100:  "  holdfast run --cluster demo scale/two   # one of 1 scenarios, of 2, that fit it\n",
		5000: "  holdfast run --cluster demo scale/two --simulated-nodes 5000   # one of 1 scenarios, of 2, that fit it\n",
	} {
		has.SimulatedNodes = nodes
		if said := scenario.Suggest("demo", has, all); said != want {
			t.Errorf("with %d simulated nodes, up says %s", nodes, said)
		}
	}
}

// What a flag of the run changes is no reason to make another cluster.
func TestFlagsThatMakeAScenarioFit(t *testing.T) {
	all := []scenario.Spec{{Name: "chaos/one", Cluster: scenario.Standing}}
	has := scenario.Standing
	has.ProxyMode, has.Profile = clusters.IPTables, clusters.Stock
	const flags = " --timings stock --proxy-mode iptables"
	if said := scenario.Suggest("demo", has, all); said != "  holdfast run --cluster demo chaos/one"+flags+"   # one of 1 scenarios, of 1, that fit it\n" {
		t.Errorf("up says %s", said)
	}
	const want = "cluster demo has stock timings, kube-proxy in iptables mode; chaos/one needs lab timings, kube-proxy in nftables mode, unless it is run with" + flags
	if _, _, err := scenario.ChooseFor("demo", has, all, clusters.Spec.WithDefaults, true); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	stock := scenario.Standing
	stock.Profile = clusters.Stock
	all = append(all, scenario.Spec{Name: "chaos/two-stock", Cluster: stock})
	iptables := scenario.Standing
	iptables.ProxyMode = clusters.IPTables
	if said := scenario.Suggest("demo", iptables, all); !strings.HasSuffix(said, "# one of 1 scenarios, of 2, that fit it\n") {
		t.Errorf("with lab timings, up says %s", said)
	}
	if _, _, err := scenario.ChooseFor("demo", scenario.Standing, all[1:], clusters.Spec.WithDefaults, true); err == nil || !strings.HasSuffix(err.Error(), "--timings stock'") || strings.Contains(err.Error(), "unless") {
		t.Errorf("a scenario that is about stock timings: %v", err)
	}
	stock.ProxyMode = clusters.NFTables
	wantNote := "1 of 2 scenarios fit cluster demo; the others need another cluster and are skipped, such as chaos/one, which runs there with --timings stock"
	if _, note, err := scenario.ChooseFor("demo", stock, all, clusters.Spec.WithDefaults, false); err != nil || note != wantNote {
		t.Errorf("%q, %v", note, err)
	}
	has.Zones = []string{"a"} // no flag changes this
	if _, _, err := scenario.ChooseFor("demo", has, all[:1], clusters.Spec.WithDefaults, true); err == nil || !strings.HasSuffix(err.Error(), "make such a cluster with 'holdfast up NAME'") {
		t.Errorf("one zone: %v", err)
	}
}

// Scenarios of a scope that do not fit are skipped with a note. If none fits, or scenarios were named, that is an error.
func TestScenariosOnACluster(t *testing.T) {
	other := scenario.Standing
	other.Egress = true
	all := []scenario.Spec{{Name: "chaos/one", Cluster: scenario.Standing}, {Name: "chaos/two", Cluster: other}}
	for _, test := range []struct {
		chosen []scenario.Spec
		named  bool
		fit    int
		note   string
		failed bool
	}{
		{chosen: all, fit: 1, note: "1 of 2 scenarios fit cluster demo; the others need another cluster and are skipped"},
		{chosen: all, named: true, failed: true},
		{chosen: all[1:], failed: true},
		{chosen: all[:1], named: true, fit: 1},
	} {
		fit, note, err := scenario.ChooseFor("demo", scenario.Standing, test.chosen, clusters.Spec.WithDefaults, test.named)
		if len(fit) != test.fit || note != test.note || (err != nil) != test.failed {
			t.Errorf("%d chosen, named %t: %d fit, %q, %v", len(test.chosen), test.named, len(fit), note, err)
		}
	}
}
