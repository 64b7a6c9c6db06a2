//go:build e2e

// The same scenarios through Ginkgo's own command, with its filters and reporters:
//
//	go run github.com/onsi/ginkgo/v2/ginkgo --tags e2e --focus rolling-update ./suites
package suites_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

func TestScenarios(t *testing.T) {
	shown := progress.New(os.Stderr, len(scenario.All))
	made, err := provider.Kind(t.Context(), os.Stderr, shown.Say)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := launch.Settings(t.Context(), run.Options{Artifacts: "../artifacts"}, launch.Tools{Version: "ginkgo", Out: os.Stderr, Provider: made, Progress: shown})
	if err != nil {
		t.Fatal(err)
	}
	settings.Reproduce = func(name, _ string) string {
		return fmt.Sprintf("holdfast run %s --scope full --seed %d", name, settings.Seed)
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
