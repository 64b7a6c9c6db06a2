package apptest_test

import (
	"fmt"
	"strings"
	"testing"

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
	test := apptest.Test{App: shop(t), Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}}
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
