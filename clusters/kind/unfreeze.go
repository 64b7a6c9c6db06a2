package kind

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// freezers is the root of the cgroup v1 freezer hierarchy. cgroup v2 does not need it: there, frozen processes can be killed.
const freezers = "/sys/fs/cgroup/freezer"

var containerID = regexp.MustCompile(`[0-9a-f]{64}`)

// unfreeze resumes the processes of killed containers, whose IDs it finds in the engine's message. root is the root of the freezer
// hierarchy; empty means that of this machine. runc briefly freezes a container to change its device rules. A node that is
// killed at that moment stays frozen, and frozen processes do not act on SIGKILL, so the node's init waits for them forever.
//
// Source: https://docs.kernel.org/admin-guide/cgroup-v1/freezer-subsystem.html
func unfreeze(root, said string) error {
	root = cmp.Or(root, freezers)
	var errs []error
	for _, id := range containerID.FindAllString(said, -1) {
		errs = append(errs, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Base(path) != "freezer.state" || !strings.Contains(path, id) {
				return nil //nolint:nilerr // a cgroup that has disappeared contains no process
			}
			if err := os.WriteFile(path, []byte("THAWED"), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}
