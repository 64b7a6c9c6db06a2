package manifests

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// A file names a release, which is an argument of Helm: no name is a flag, by which Helm would run a program or write into any folder.
func TestAReleaseIsNoFlag(t *testing.T) {
	chart := filepath.Join(t.TempDir(), "shop")
	if err := os.MkdirAll(chart, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for release, ok := range map[string]bool{
		"": true, "shop": true, "shop-2": true, "shop.v1": true, "a.b-c.d": true, "shop.": false, ".shop": false, "a..b": false, "a.-b": false, strings.Repeat("a", 53): true,
		"--post-renderer=./evil.sh": false, "--output-dir=/tmp": false, "-f": false, "-": false, "a b": false, "a\n--x": false, "shop-": false, "../x": false,
		"Shop": false, strings.Repeat("a", 54): false,
	} {
		var ran []string
		h := Helm{Find: func() (string, error) { return "helm", nil }, Run: func(_ context.Context, _ string, args ...string) ([]byte, []byte, error) {
			ran = args
			return []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"), nil, nil
		}}
		_, err := h.render(t.Context(), app.Chart{Path: chart, Release: release}, "shop", nil)
		if (err == nil) != ok || (ran != nil) != ok || err != nil && !strings.Contains(err.Error(), "want a name of at most 53") {
			t.Errorf("%q: %v, Helm was run with %q", release, err, ran)
		}
		if release != "" && ok && !slices.Contains(ran, release) {
			t.Errorf("%q: Helm was run with %q", release, ran)
		}
	}
}
