package manifests

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Write writes each object into a file of its own in a new folder, such as deployment-web.yaml. Only this user can read the files, because
// people write passwords into environment variables.
func (c Copy) Write(folder string) error {
	err := os.Mkdir(folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already: remove it, or name another folder", folder)
	}
	if err != nil {
		return err
	}
	for _, o := range c.Objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		// RBAC's names may have colons and slashes.
		name := strings.NewReplacer("/", "_", ":", "_").Replace(strings.ToLower(o.GetKind()) + "-" + o.GetName() + ".yaml")
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
