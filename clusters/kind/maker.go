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

	"github.com/holdfast-ha/holdfast/framework/base/process"
)

// Maker is the process that created a cluster. The maker removes the cluster, unless the cluster is kept; see Keep.
type Maker struct {
	process.Process
	Command string `json:"command"` // command line of the process
	State   string `json:"state"`   // folder with the cluster's files
}

// newMaker describes this process as the maker of a cluster.
func newMaker(name, command string) (*Maker, error) {
	dir, err := stateDir(name)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return &Maker{Process: process.Self(), Command: command, State: dir}, err
}

// Made is a cluster, or what is left of one, with its maker.
type Made struct {
	Name string
	Maker
	Kept bool // Keep was called
}

// Abandoned reports whether the maker has ended without removing the cluster, and the cluster was not kept.
func (m Made) Abandoned() bool { return !m.Kept && m.Life() == process.Ended }

// InUse reports whether the maker is still alive, and thus uses the cluster or is about to.
func (m Made) InUse() bool { return m.Life() == process.Lives }

func (m Made) String() string {
	return fmt.Sprintf("cluster %s is left: '%s' (%s) was killed before it could remove or finish it: holdfast down %s", m.Name, m.Command, m.Process, m.Name)
}

// Makers lists the existing clusters and their makers, sorted by name. It runs one engine command, plus one per cluster. It
// omits clusters that an older version of holdfast created without recording a maker.
func Makers(ctx context.Context, e Engine) (all []Made, err error) {
	names, err := lines(ctx, e, "network", "ls", "--filter", "label="+labelCluster, "--format", "{{.Name}}")
	if err != nil {
		return nil, fmt.Errorf("list the makers of the clusters: %w", err)
	}
	slices.Sort(names)
	for _, full := range names {
		name, ours := strings.CutPrefix(full, prefix)
		if !ours {
			continue
		}
		described, err := inspectNetwork(ctx, e, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // just removed by another process
		}
		if err != nil {
			return nil, err
		}
		if r, err := described.record(); err == nil && r.Maker != nil {
			_, err := os.Stat(filepath.Join(r.Maker.State, keptFile))
			all = append(all, Made{name, *r.Maker, !errors.Is(err, fs.ErrNotExist)}) // a mark that cannot be read may be there
		}
	}
	return all, nil
}
