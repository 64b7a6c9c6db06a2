package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

const files = `# two objects of one name
apiVersion: v1
kind: Secret
metadata: {name: edge}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: edge
data:
  literal.cfg: |

    first
    second
  kept.cfg: |2-
      first
    second
  quoted.cfg: "first\nsecond\n"
  folded.cfg: >
    first

    second
`

// A line of a file in a ConfigMap is found where the file is written as it is.
func TestPlacesInTexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(file, []byte(files), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := app.Read(app.Sources{Files: []string{file}})
	if err != nil || len(read) != 2 {
		t.Fatalf("%d objects, %v", len(read), err)
	}
	edge := read[1]
	data, _, err := unstructured.NestedStringMap(edge.Object.Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"literal.cfg": ":14", "kept.cfg": ":17", "quoted.cfg": ":18", "folded.cfg": ":19", "none.cfg": ""} {
		n := 0
		for i, line := range strings.Split(data[key], "\n") {
			if line == "second" {
				n = i
			}
		}
		if got := strings.TrimPrefix(edge.PlaceInText(n, "data", key), file); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
