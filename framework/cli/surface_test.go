package cli

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Every command with its flags stands in a file, so that no change takes one away unnoticed. `go test ./framework/cli -run TestSurface -update` rewrites it.
func TestSurface(t *testing.T) {
	const golden = "testdata/commands.txt"
	var b strings.Builder
	all := commands(Command("v1.2.3"))
	for _, words := range slices.Sorted(maps.Keys(all)) {
		if all[words].Hidden {
			continue
		}
		fmt.Fprintln(&b, strings.TrimSpace("holdfast "+words))
		all[words].LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			fmt.Fprintf(&b, "  --%s %s\n", f.Name, f.Value.Type())
		})
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if diff := cmp.Diff(string(want), b.String()); err != nil || diff != "" {
		t.Errorf("%v, commands and flags (-want +got):\n%s", err, diff)
	}
}
