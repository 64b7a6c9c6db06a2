package kind

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// freezers is where version 1 of cgroups keeps its freezers; version 2 has none, and there a frozen process can be killed.
const freezers = "/sys/fs/cgroup/freezer"

var containerID = regexp.MustCompile(`[0-9a-f]{64}`)

// thaw lets the processes of killed containers die, whose IDs are in what the engine said. runc freezes a container for
// the moment in which it changes its devices; a node that is killed in that moment leaves it frozen, and what is frozen takes
// no SIGKILL, so that the node's first process waits for it for ever.
//
// Source: https://docs.kernel.org/admin-guide/cgroup-v1/freezer-subsystem.html
func thaw(root, said string) error {
	var errs []error
	for _, id := range containerID.FindAllString(said, -1) {
		errs = append(errs, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Base(path) != "freezer.state" || !strings.Contains(path, id) {
				return nil //nolint:nilerr // a cgroup that is gone meanwhile holds nothing
			}
			if err := os.WriteFile(path, []byte("THAWED"), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}
