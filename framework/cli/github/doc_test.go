// Package github holds tests alone: what .github has for GitHub's machines (an action, and scripts of the nightly) is held to its form,
// and run against stand-ins for holdfast, go and gh. They cannot lie beside it, for Go passes over folders that begin with a dot.
package github

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests where GitHub runs the scripts: at the top of the repository.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
