package nodenet

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	lab = subnets{pods: "10.244.0.0/16", services: "10.96.0.0/16"}
	two = []node{
		{Name: "a", IP: "10.89.0.2", PodCIDR: "10.244.0.0/24"},
		{Name: "b", IP: "10.89.0.3", PodCIDR: "10.244.1.0/24"},
	}
)

func TestPlanRoutes(t *testing.T) {
	for _, c := range []struct {
		name    string
		nodes   []node
		address string
		want    []route
	}{
		{name: "nothing known", want: []route{{"10.96.0.0/16", "dev eth0"}}},
		{
			name: "two nodes", nodes: two, address: "10.244.0.1",
			want: []route{
				{"blackhole 10.244.0.0/24", ""},
				{"10.96.0.0/16", "dev eth0 src 10.244.0.1"},
				{"10.244.1.0/24", "via 10.89.0.3 src 10.244.0.1"},
			},
		},
		{
			name:  "no range of its own yet",
			nodes: []node{{Name: "a", IP: "10.89.0.2"}, two[1]},
			want:  []route{{"10.96.0.0/16", "dev eth0"}, {"10.244.1.0/24", "via 10.89.0.3"}},
		},
		{
			name:  "neighbours without a range or an address",
			nodes: []node{{Name: "b", IP: "10.89.0.3"}, {Name: "c", PodCIDR: "10.244.2.0/24"}},
			want:  []route{{"10.96.0.0/16", "dev eth0"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := makePlan(c.nodes, "a", lab, true, 1500)
			if diff := cmp.Diff(c.want, p.routes, cmp.AllowUnexported(route{})); diff != "" {
				t.Errorf("routes (-want +got):\n%s", diff)
			}
			if p.address != c.address {
				t.Errorf("address %q, want %q", p.address, c.address)
			}
			if (p.conflist == nil) != (c.address == "") {
				t.Errorf("conflist %q: want one exactly if the node has a range", p.conflist)
			}
		})
	}
}

func TestConflist(t *testing.T) {
	got := conflist("10.244.1.0/24", 1400)
	want, err := os.ReadFile("testdata/10-holdfast.conflist")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("conflist (-want +got):\n%s", diff)
	}
	if !json.Valid(got) {
		t.Error("not JSON")
	}
}

func TestRuleset(t *testing.T) {
	for _, c := range []struct {
		name, file string
		egress     bool
	}{
		{"egress", "egress.nft", true},
		{"no egress", "no-egress.nft", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := os.ReadFile("testdata/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), ruleset(two, lab, c.egress)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRulesetNamesKnownNodesOnly(t *testing.T) {
	if got := ruleset([]node{{Name: "a"}}, lab, false); !strings.Contains(got, "ip daddr != 10.244.0.0/16 ip daddr != 10.96.0.0/16 reject") {
		t.Errorf("a node without an address left its mark: %s", got)
	}
}

func TestFirstIPv4(t *testing.T) {
	for _, c := range []struct {
		of   []string
		want string
	}{
		{nil, ""},
		{[]string{"fd00::1"}, ""},
		{[]string{"fd00:10:244::/64", "10.244.0.0/24"}, "10.244.0.0/24"},
		{[]string{"10.89.0.2", "10.89.0.3"}, "10.89.0.2"},
		{[]string{"worker"}, ""},
	} {
		if got := firstIPv4(c.of); got != c.want {
			t.Errorf("%q: got %q, want %q", c.of, got, c.want)
		}
	}
}
