//go:build e2e

// The same scenarios through Ginkgo's own command, with its filters and reporters:
//
//	CGO_ENABLED=0 go run github.com/onsi/ginkgo/v2/ginkgo --tags e2e --focus rolling-update ./suites
//
// Without cgo, because the pods run the test's executable, too.
package suites_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/holdfast-ha/holdfast/framework/cli"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "workload" { // in a pod
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := cli.Workload(ctx, os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(cli.ExitCode(err))
		}
		return
	}
	os.Exit(m.Run())
}

func TestScenarios(t *testing.T) {
	settings, err := cli.SettingsFor(t.Context(), "ginkgo", "../artifacts", os.Stderr, len(scenario.All))
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(settings); err != nil {
		t.Fatal(err)
	}
	run.Register(scenario.All)
	ginkgo.RunSpecs(t, "holdfast")
}
