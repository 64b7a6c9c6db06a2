// Package errtest compares errors with their texts in tests.
package errtest

import (
	"strings"
	"testing"
)

// Check reports a test failure unless err contains the text want. An empty want demands that there is no error.
func Check(t testing.TB, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v, want no error", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got  %v\nwant an error with %s", err, want)
	}
}
