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
	started, err := run.Start(settings)
	if err != nil {
		t.Fatal(err)
	}
	ginkgo.Describe("scenarios", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
		for _, s := range run.ByCluster(scenario.All) {
			ginkgo.It(s.Name, ginkgo.Label(s.Labels()...), func(ctx ginkgo.SpecContext) {
				switch skipped, err := started.Scenario(ctx, s); {
				case err != nil:
					ginkgo.Fail(err.Error())
				case skipped != "":
					ginkgo.Skip(skipped)
				}
			})
		}
	})
	ginkgo.AfterSuite(func(ctx ginkgo.SpecContext) {
		if err := started.End(ctx); err != nil {
			ginkgo.Fail(err.Error())
		}
	})
	ginkgo.RunSpecs(t, "holdfast")
}
