// Command holdfast takes a Kubernetes cluster apart under load and proves which promises held. What it can do stands in
// package framework/cli, one file a command; what it certifies stands under suites.
package main

import (
	"context"
	"os"

	"github.com/holdfast-ha/holdfast/framework/cli"

	// The certificate authorities that are trusted where the machine has none, as in the image of a load worker: an application's certificate may
	// be one of theirs.
	_ "golang.org/x/crypto/x509roots/fallback"

	// The suites: each registers its scenarios.
	_ "github.com/holdfast-ha/holdfast/suites/chaos"
	_ "github.com/holdfast-ha/holdfast/suites/conformance"
	_ "github.com/holdfast-ha/holdfast/suites/incidents"
	_ "github.com/holdfast-ha/holdfast/suites/profiles"
	_ "github.com/holdfast-ha/holdfast/suites/scale"
	_ "github.com/holdfast-ha/holdfast/suites/upgrade"
)

// version is set when a release is built.
var version = "unreleased"

func main() {
	os.Exit(cli.Main(context.Background(), version))
}
