package kind

import (
	"context"
	"regexp"
	"testing"
)

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// fails compares an error with a text. The number of checks until a limit is not always the same.
func fails(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || regexp.MustCompile(`\(\d+ checks`).ReplaceAllString(err.Error(), "(N checks") != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
