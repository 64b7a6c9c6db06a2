// Package keeps compares what was written with what is read back.
package keeps

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// All fails the test if a value of was is different or missing in is. Values may have been added.
func All(t *testing.T, was, is []byte) {
	t.Helper()
	var old, read map[string]any
	if err := json.Unmarshal(was, &old); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(is, &read); err != nil {
		t.Fatal(err)
	}
	drop(read, old)
	if diff := cmp.Diff(old, read); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

// drop removes from from what like does not contain.
func drop(from, like any) {
	switch from := from.(type) {
	case map[string]any:
		old, _ := like.(map[string]any)
		for key := range from {
			if _, ok := old[key]; !ok {
				delete(from, key)
			}
			drop(from[key], old[key])
		}
	case []any:
		old, _ := like.([]any)
		for i := range min(len(from), len(old)) {
			drop(from[i], old[i])
		}
	}
}
