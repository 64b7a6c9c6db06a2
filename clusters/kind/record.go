package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
)

// clusterRecord is what a process must know to attach to a cluster. It is stored in a label of the cluster's network.
type clusterRecord struct {
	Spec  clusters.Spec `json:"spec"`
	Image string        `json:"image"`
	// Balancer is the load balancer in front of several control planes, as nodeimage names it. Empty with a single control
	// plane.
	Balancer string    `json:"balancer,omitempty"`
	Made     time.Time `json:"made"`
	// Maker is nil if an older version of holdfast created the cluster.
	Maker *Maker `json:"maker,omitempty"`
}

// readRecord returns the current record of a cluster. The error is fs.ErrNotExist if there is no such cluster.
func readRecord(ctx context.Context, e Engine, name string) (clusterRecord, error) {
	network, err := inspectNetwork(ctx, e, name)
	if err != nil {
		return clusterRecord{}, err
	}
	made, err := network.record()
	if err != nil {
		return clusterRecord{}, err
	}
	return keptUpgrade(name, made), nil
}

// record parses the label that Reserve wrote.
func (n network) record() (clusterRecord, error) {
	var r clusterRecord
	if err := json.Unmarshal([]byte(n.Labels[labelRecord]), &r); err != nil {
		return r, fmt.Errorf("read the label %s of network %s: %w", labelRecord, n.Name, err)
	}
	return r, nil
}

// An engine cannot change the labels of a network, so the record of an upgraded cluster is stored in a file beside its
// kubeconfig. The file is deleted with the cluster. The creation time distinguishes the cluster from a later one of the same
// name.

func upgradePath(name string) (string, error) {
	dir, err := stateDir(name)
	return filepath.Join(dir, "upgraded.json"), err
}

// storeUpgrade stores the record of an upgraded cluster.
func storeUpgrade(name string, r clusterRecord) error {
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
func keptUpgrade(name string, made clusterRecord) clusterRecord {
	path, err := upgradePath(name)
	if err != nil {
		return made
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return made
	}
	var now clusterRecord
	if json.Unmarshal(text, &now) != nil || !now.Made.Equal(made.Made) {
		return made
	}
	return now
}
