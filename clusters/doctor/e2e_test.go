//go:build e2e

package doctor

import (
	"strings"
	"testing"
	"time"
)

// TestExamineForReal examines this machine.
func TestExamineForReal(t *testing.T) {
	begin := time.Now()
	report := Examine(t.Context(), Options{CacheDir: t.TempDir()})
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", time.Since(begin), text.String())
	if !report.OK {
		t.Error("no cluster can be created here")
	}
	for _, check := range report.Checks {
		if check.Found == "" || check.Status == Fail && check.Remedy == "" {
			t.Errorf("%+v: found or remedy is missing", check)
		}
	}
}
