package clusters

import (
	"reflect"
	"testing"
)

func TestUnlike(t *testing.T) {
	three := Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 2}
	for name, test := range map[string]struct {
		has, need   Spec
		here, there string
	}{
		"the same, defaults written out": {Spec{Zones: []string{"a"}, Profile: Lab}, Spec{Zones: []string{"a"}, WorkersPerZone: 1}, "", ""},
		"any version will do":            {Spec{Kubernetes: "v1.37.1", Zones: []string{"a"}}, Spec{Zones: []string{"a"}}, "", ""},
		"too small":                      {Spec{Zones: []string{"a", "b"}}, three, "zones a,b with 1 worker each", "zones a,b,c with 2 workers each"},
		"everything": {
			Spec{Kubernetes: "v1.36.3", Zones: []string{"a"}, PerWorker: map[string][]string{"disk": {"ssd"}}, Egress: true},
			Spec{Kubernetes: "v1.37.1", ControlPlanes: 3, Zones: []string{"b"}, Profile: Stock, ProxyMode: IPTables, LeaderElection: true, PerWorker: map[string][]string{"rack": {"r1", "r2"}}},
			"Kubernetes v1.36.3, 1 control plane, zones a with 1 worker each, lab timings, kube-proxy in nftables mode, no leader election of a lone control plane, " +
				"a default route on the nodes, workers labelled disk=ssd",
			"Kubernetes v1.37.1, 3 control planes, zones b with 1 worker each, stock timings, kube-proxy in iptables mode, a leader election of a lone control plane, " +
				"no default route on the nodes, workers labelled rack=r1,r2",
		},
		"labels alone": {three, Spec{Zones: three.Zones, WorkersPerZone: 2, PerWorker: map[string][]string{"a": {"b"}}}, "no extra labels on workers", "workers labelled a=b"},
	} {
		if here, there := test.has.Unlike(test.need); here != test.here || there != test.there {
			t.Errorf("%s: has\n%s\nneeds\n%s", name, here, there)
		}
	}
}

// A field that Unlike ignored would let a scenario run on a cluster that does not fit.
func TestUnlikeComparesEveryField(t *testing.T) {
	other := Spec{
		Kubernetes: "v1.1.1", ControlPlanes: 7, Zones: []string{"z"}, WorkersPerZone: 7, Profile: Stock,
		PerWorker: map[string][]string{"k": {"v"}}, ProxyMode: IPTables, LeaderElection: true, Egress: true,
		LoadOnWorkers: 1, Plain: true, SimulatedNodes: 9,
	}
	plain := Spec{Kubernetes: "v1.0.0", Zones: []string{"a"}}.WithDefaults()
	for i := range reflect.TypeFor[Spec]().NumField() {
		changed := plain
		reflect.ValueOf(&changed).Elem().Field(i).Set(reflect.ValueOf(other).Field(i))
		if here, there := plain.Unlike(changed); here == "" || there == "" {
			t.Errorf("%s is not compared", reflect.TypeFor[Spec]().Field(i).Name)
		}
	}
}
