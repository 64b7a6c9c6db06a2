package kind

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// An engine cannot change the labels of a network, so the record of an upgraded cluster is stored in a file beside its
// kubeconfig. The file is deleted with the cluster. The creation time distinguishes the cluster from a later one of the same
// name.

func upgradePath(name string) (string, error) {
	dir, err := stateDir(name)
	return filepath.Join(dir, "upgraded.json"), err
}

// keepUpgrade stores the record of an upgraded cluster.
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

// keptUpgrade is the current record of a cluster: the stored record if this very cluster was upgraded, otherwise made.
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
