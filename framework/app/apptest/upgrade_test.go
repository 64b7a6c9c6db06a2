package apptest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	_ "github.com/holdfast-ha/holdfast/suites/upgrade" // describes the upgrade
)

// The upgrade of a cluster has the application in place of holdfast's own workload, and the requests of its probes.
func TestUpgrade(t *testing.T) {
	of, err := scenario.Upgrade("v1.37.0", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	test := row{shop, urls("http://web/"), "", apptest.Promises{}}.test(t)
	got, err := test.Upgrade("app/upgrade", of)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "app/upgrade" || got.App == nil || got.Tested != "web" || got.About != of.About || len(got.Faults) != len(of.Faults) {
		t.Errorf("got %+v", got)
	}
	var faults []string
	for _, f := range got.Faults {
		faults = append(faults, f.String())
	}
	want := []string{"upgrade the control plane to v1.37.0", "rolling update", "try for 2m0s to drain 1 worker", "upgrade the workers to v1.37.0", "rolling update"}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	var lanes []string
	for _, l := range got.Load {
		lanes = append(lanes, string(l.Lane)+" "+l.Target)
	}
	if diff := cmp.Diff([]string{"fresh http://web/", "reused http://web/", "control "}, lanes); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
	if fmt.Sprint(of.Faults[2]) == faults[2] {
		t.Error("the upgrade of holdfast's own workload was changed")
	}
	test.Probes = nil
	if _, err := test.Upgrade("app/upgrade", of); err == nil || !strings.Contains(err.Error(), "no probe") {
		t.Errorf("without a probe: %v", err)
	}
}

// The upgrade is a voluntary disruption, of which all probes are promised what a file says.
func TestAnUpgradeKeepsThePromises(t *testing.T) {
	of, err := scenario.Upgrade("v1.37.0", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	promises := apptest.Promises{Of: map[string]apptest.Promise{"web-2": {Failed: apptest.Allowance{AtMost: 3}, EndsWithin: time.Minute}}}
	s, err := row{shop, urls("http://web/", "http://web/cart"), "", promises}.test(t).Upgrade("app/upgrade", of)
	golden(t, "upgrade.txt", map[string]string{"two probes": shown([]scenario.Spec{s}, nil, err)})
}
