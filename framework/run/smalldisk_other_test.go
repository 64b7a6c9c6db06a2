//go:build !linux

package run

import "testing"

// smallDisk skips the test: a disk in memory, of a size that is chosen, is Linux's.
func smallDisk(t *testing.T) string {
	t.Helper()
	t.Skip("a disk that can be filled takes Linux")
	return ""
}
