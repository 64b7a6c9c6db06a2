package clusters

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestValidate(t *testing.T) {
	good := Spec{Zones: []string{"a", "b", "c"}}
	with := func(change func(*Spec)) Spec {
		s := good
		change(&s)
		return s
	}
	for _, tt := range []struct {
		name string
		spec Spec
		want string // empty: valid
	}{
		{"good", good, ""},
		{"with defaults", good.WithDefaults(), ""},
		{"zero value", Spec{}, "zones: none given; name at least one, for example --zones a,b,c"},
		{"empty zone", with(func(s *Spec) { s.Zones = []string{"a", ""} }), `zones ["a" ""]: every zone needs a name of its own`},
		{"zone twice", with(func(s *Spec) { s.Zones = []string{"a", "a"} }), `zones ["a" "a"]: every zone needs a name of its own`},
		{"zone that is no label", with(func(s *Spec) { s.Zones = []string{"a b"} }), `zone "a b": `},
		{"no workers", with(func(s *Spec) { s.WorkersPerZone = -1 }), "workers per zone -1: must be at least 1"},
		{"load on all workers", with(func(s *Spec) { s.LoadOnWorkers = len(s.Zones) * s.WithDefaults().WorkersPerZone }), ""},
		{"load on more workers than there are", with(func(s *Spec) { s.LoadOnWorkers = 99 }), "load on 99 workers: the cluster has "},
		{"no control plane", with(func(s *Spec) { s.ControlPlanes = -1 }), "control planes -1: must be at least 1"},
		{"version without v", with(func(s *Spec) { s.Kubernetes = "1.37.0" }), `kubernetes version "1.37.0": want v1.MINOR.PATCH, such as v1.37.0; 'holdfast image versions' lists what there is`},
		{"short version", with(func(s *Spec) { s.Kubernetes = "v1.37" }), `kubernetes version "v1.37": want v1.MINOR.PATCH, such as v1.37.0; 'holdfast image versions' lists what there is`},
		{"profile", with(func(s *Spec) { s.Profile = "fast" }), `profile "fast": want lab or stock`},
		{"proxy mode", with(func(s *Spec) { s.ProxyMode = "userspace" }), `kube-proxy mode "userspace": want nftables, iptables or ipvs`},
		{"label a worker", with(func(s *Spec) { s.PerWorker = map[string][]string{"rack": {"r1", "r2"}} }), ""},
		{"region", with(func(s *Spec) { s.PerWorker = map[string][]string{LabelRegion: {"north"}} }), ""},
		{"label without values", with(func(s *Spec) { s.PerWorker = map[string][]string{"rack": {}} }), "label rack of each worker: want at least one value"},
		{"label with a prefix", with(func(s *Spec) { s.PerWorker = map[string][]string{"example.com/disk": {"fast"}} }), ""},
		{"label's key", with(func(s *Spec) { s.PerWorker = map[string][]string{"a b": {"c"}} }), `label a b="c" of a worker: `},
		{"label that is ours", with(func(s *Spec) { s.PerWorker = map[string][]string{LabelRole: {"x"}} }), `label holdfast.dev/role="x" of a worker: holdfast sets it itself`},
		{"label that a kubelet may not set", with(func(s *Spec) { s.PerWorker = map[string][]string{"node-role.kubernetes.io/web": {""}} }), "a kubelet may not set it"},
		{"a worker's label that is ours", with(func(s *Spec) { s.PerWorker = map[string][]string{LabelZone: {"x"}} }),
			`label topology.kubernetes.io/zone="x" of a worker: holdfast sets it itself`},
		{"a worker's label's value", with(func(s *Spec) { s.PerWorker = map[string][]string{"rack": {"r1", "r 2"}} }), `label rack="r 2" of a worker: `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.spec.Validate()
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("%v, want it valid", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// The lab profile must notice a lost node quickly. The stock profile must match the Kubernetes defaults.
func TestTimings(t *testing.T) {
	lab, stock := Lab.Timings(), Stock.Timings()
	if got, want := lab.NodeLossNoticed(), 10*time.Second; got != want {
		t.Errorf("lab notices after %s, want %s", got, want)
	}
	if got, want := stock.NodeLossNoticed(), 60*time.Second; got != want {
		t.Errorf("stock notices after %s, want %s", got, want)
	}
	for name, timings := range map[string]Timings{"lab": lab, "stock": stock} {
		// A kubelet renews its lease every quarter of the lease duration. One late renewal must not make a node count as lost.
		if renewals := timings.NodeMonitorGrace / (timings.NodeLease / 4); renewals < 4 {
			t.Errorf("%s: a node is lost after %d missed renewals", name, renewals)
		}
		if timings.NodeLease%time.Second != 0 || timings.Toleration%time.Second != 0 {
			t.Errorf("%s: Kubernetes takes the lease and the toleration in whole seconds: %+v", name, timings)
		}
	}
}

// However many simulated nodes there are, their leases are no more writes than an API server on two cores can take.
func TestTimingsOfSimulatedNodes(t *testing.T) {
	for nodes, want := range map[int]time.Duration{0: 8 * time.Second, 100: 8 * time.Second, 500: 25 * time.Second, 5000: 250 * time.Second} {
		spec := Spec{Profile: Lab, SimulatedNodes: nodes}
		if got := spec.Timings().NodeMonitorGrace; got != want {
			t.Errorf("%d simulated nodes: a silent node stays Ready for %s, want %s", nodes, got, want)
		}
	}
}

// A spec is stored as JSON in a label of the container network, and must survive the round trip.
func TestSpecAsJSON(t *testing.T) {
	want := Spec{Zones: []string{"a", "b"}, Egress: true,
		PerWorker: map[string][]string{"rack": {"r1", "r2"}}}.WithDefaults()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Spec
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
