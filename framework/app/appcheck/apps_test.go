package appcheck_test

import (
	"path/filepath"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/app/appcheck"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Of the applications of suites/apps, which are known to work, nothing is refused.
func TestApplicationsThatWorkAreNotRefused(t *testing.T) {
	folders, err := filepath.Glob("../../../suites/apps/*/k8s")
	if err != nil || len(folders) < 4 {
		t.Fatalf("%d applications, %v", len(folders), err)
	}
	for _, folder := range folders {
		manifests, err := app.Read(app.Sources{Files: []string{folder}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := app.New(manifests, "")
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		stops, _ := found(appcheck.Check(a, plan(t)))
		if len(stops) > 0 {
			t.Errorf("%s: %q", folder, stops)
		}
	}
}
