package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
)

func TestDescribeProfile(t *testing.T) {
	defer func(before []Profile) { Profiles = before }(Profiles)
	Profiles = nil
	a, b := Spec{Name: "chaos/a"}, Spec{Name: "chaos/b"}
	whole := func() Profile {
		return Profile{Name: "Core", Features: []Feature{{"drain", []Spec{a}}, {"pod delete", []Spec{b, a}}}}
	}
	DescribeProfile(whole())
	if len(Profiles) != 1 || Profiles[0].Name != "Core" {
		t.Fatalf("kept %+v", Profiles)
	}
	var names []string
	for _, s := range Profiles[0].Scenarios() {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"chaos/a", "chaos/b"}, names); diff != "" {
		t.Errorf("its scenarios (-want +got):\n%s", diff)
	}
	with := func(s Spec) func(*Profile) { return func(p *Profile) { p.Features[1].Scenarios = []Spec{s} } }
	for want, spoil := range map[string]func(*Profile){
		`profile "core": want a name such as Core`:                         func(p *Profile) { p.Name = "core" },
		"profile Core: there is one of that name already":                  func(p *Profile) { p.Name = "Core" },
		"no features, so nothing is certified":                             func(p *Profile) { p.Features = nil },
		`feature "Drain": want a name such as "pod delete"`:                func(p *Profile) { p.Features[0].Name = "Drain" },
		`feature "drain": there is one of that name already`:               func(p *Profile) { p.Features[1].Name = "drain" },
		`feature "pod delete": no scenarios: a feature without a scenario`: func(p *Profile) { p.Features[1].Scenarios = nil },
		"chaos/a twice": func(p *Profile) { p.Features[0].Scenarios = []Spec{a, b, a} },
		"chaos/c is a mutant: what is broken on purpose": with(Spec{Name: "chaos/c", Mutant: &history.Mutant{}}),
		"chaos/d wants another cluster than the default": with(Spec{Name: "chaos/d", Cluster: clusters.Spec{Zones: []string{"a", "b"}, WorkersPerZone: 2}}),
		"chaos/e wants another cluster than the default": with(Spec{Name: "chaos/e", Cluster: clusters.Spec{Kubernetes: "v1.36.3"}}),
		"chaos/f wants another cluster than the default": with(Spec{Name: "chaos/f", Cluster: clusters.Spec{Profile: clusters.Stock}}),
	} {
		spoilt := whole()
		spoilt.Name = "Extended"
		spoil(&spoilt)
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("panics with %v, want %q", err, want)
				}
			}()
			DescribeProfile(spoilt)
		}()
	}
	if len(Profiles) != 1 {
		t.Errorf("%d profiles, want the one", len(Profiles))
	}
	DescribeProfile(Profile{Name: "Extended", Features: whole().Features}) // a scenario may be in more than one
}
