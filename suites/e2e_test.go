//go:build e2e

// The same scenarios through Ginkgo's own command, with its filters and reporters:
//
//	go run github.com/onsi/ginkgo/v2/ginkgo --tags e2e --focus rolling-update ./suites
package suites_test

import (
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

func TestScenarios(t *testing.T) {
	settings, err := launch.SettingsFor(t.Context(), "ginkgo", "../artifacts", os.Stderr, len(scenario.All))
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(settings); err != nil {
		t.Fatal(err)
	}
	run.Register(scenario.All)
	ginkgo.RunSpecs(t, "holdfast")
}
