package kind

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/process"
)

// Maker is the process that made a cluster. A cluster is removed by its maker, unless it is meant to stay; see Keep.
type Maker struct {
	process.Process
	Command string `json:"command"` // its command line
	State   string `json:"state"`   // the folder of the cluster's files
}

// makerOf is this process, as the maker of a cluster.
func makerOf(name, command string) (*Maker, error) {
	dir, err := stateDir(name)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return &Maker{Process: process.Self(), Command: command, State: dir}, err
}

// keptFile says that a cluster is meant to stay when its maker ends.
const keptFile = "kept"

// Keep says that the cluster is meant to stay when its maker ends.
func (c *Cluster) Keep() error {
	dir, err := stateDir(c.name)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, keptFile), nil, 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep cluster %s: %w", c.name, err)
	}
	return nil
}

// StateDir is the folder of this machine that keeps the files of a cluster. It goes with the cluster.
func (c *Cluster) StateDir() (string, error) { return stateDir(c.name) }

// StateDir is the folder of this machine that keeps the files of the cluster of that name.
func StateDir(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	return stateDir(name)
}

// Made is a cluster, or what there is of one, with its maker.
type Made struct {
	Name string
	Maker
	Kept bool // it is meant to stay when its maker ends
}

// Abandoned tells whether the maker has ended before it could remove the cluster, or finish it.
func (m Made) Abandoned() bool { return !m.Kept && m.Life() == process.Ended }

// InUse tells whether the maker still lives: it uses the cluster, or is about to.
func (m Made) InUse() bool { return m.Life() == process.Lives }

func (m Made) String() string {
	return fmt.Sprintf("cluster %s is left: '%s' (%s) was killed before it could remove or finish it: holdfast down %s", m.Name, m.Command, m.Process, m.Name)
}

// Makers tells who made the clusters that are there, by name. It costs one command of the engine, and one for each cluster. What an
// older version made is left out, for nothing tells its maker.
func Makers(ctx context.Context, e *engine.Engine) ([]Made, error) { return makers(ctx, e) }

func makers(ctx context.Context, e runner) (all []Made, err error) {
	names, err := lines(ctx, e, "network", "ls", "--filter", "label="+labelCluster, "--format", "{{.Name}}")
	if err != nil {
		return nil, fmt.Errorf("ask who made the clusters: %w", err)
	}
	slices.Sort(names)
	for _, full := range names {
		name, ours := strings.CutPrefix(full, Prefix)
		if !ours {
			continue
		}
		described, err := inspectNetwork(ctx, e, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed a moment ago
		}
		if err != nil {
			return nil, err
		}
		if r, err := described.record(); err == nil && r.Maker != nil {
			_, err := os.Stat(filepath.Join(r.Maker.State, keptFile))
			all = append(all, Made{name, *r.Maker, err == nil})
		}
	}
	return all, nil
}
