package kind

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// An engine does not change the labels of a network, so what an upgrade has made of a cluster lies beside its kubeconfig. It goes
// with it, and a cluster that is made later under the same name is another: the moment of its making tells them apart.

func upgradePath(name string) (string, error) {
	dir, err := stateDir(name)
	return filepath.Join(dir, "upgraded.json"), err
}

// keepUpgrade writes down what the cluster is now.
func keepUpgrade(name string, r record) error {
	path, err := upgradePath(name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// keptUpgrade is the record of what the cluster is now: as it was made, unless an upgrade of this very cluster was kept.
func keptUpgrade(name string, made record) record {
	path, err := upgradePath(name)
	if err != nil {
		return made
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return made
	}
	var now record
	if json.Unmarshal(text, &now) != nil || !now.Made.Equal(made.Made) {
		return made
	}
	return now
}
