package output_test

import (
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/base/output"
)

func TestTail(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"go: downloading a\n# pkg\r\nx.go:1: no\n": "  # pkg\n  x.go:1: no",
		"1\n2\n3\n4\n5\n6\n7\n8\n":                 "  3\n  4\n  5\n  6\n  7\n  8",
	} {
		if got := output.Tail(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	if got := output.Lines(" a b \r\n\n\t\nc"); !slices.Equal(got, []string{"a b", "c"}) {
		t.Errorf("got %q", got)
	}
}
