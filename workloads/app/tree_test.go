package app

import "testing"

// A folder may be gone when it is read, after it was found.
func TestAFolderThatIsGone(t *testing.T) {
	var found tree
	if err := found.walk(t.TempDir() + "/gone"); err == nil {
		t.Error("no error")
	}
}
