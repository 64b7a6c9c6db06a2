package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// deleteWithin bounds the removal of one cluster. Measured: 8 nodes take 3 s; docker's disk cleanup may take longer.
const deleteWithin = 3 * time.Minute

// Removed lists what was removed.
type Removed struct {
	Containers []string
	Volumes    []string
	Networks   []string
}

// Nothing reports whether there was nothing to remove.
func (r Removed) Nothing() bool { return len(r.Containers)+len(r.Volumes)+len(r.Networks) == 0 }

func (r *Removed) add(other Removed) {
	r.Containers = append(r.Containers, other.Containers...)
	r.Volumes = append(r.Volumes, other.Volumes...)
	r.Networks = append(r.Networks, other.Networks...)
}

// DeleteAll removes every holdfast cluster, and what a crash has left of one: containers, volumes, networks and kubeconfigs. It
// does not spare clusters that another process is using.
func DeleteAll(ctx context.Context, e Engine) (Removed, error) {
	found, err := List(ctx, e)
	if err != nil {
		return Removed{}, err
	}
	removed := make([]Removed, len(found))
	errs := make([]error, len(found)+1)
	var group errgroup.Group
	group.SetLimit(2) // one removal alone keeps the engine busy
	for i, summary := range found {
		group.Go(func() error {
			removed[i], errs[i] = Delete(ctx, e, summary.Name)
			return nil
		})
	}
	_ = group.Wait()  // errors are in errs
	var left []string // the clusters whose removal failed: their kubeconfigs are still needed
	for i, summary := range found {
		if errs[i] != nil {
			left = append(left, summary.Name)
		}
	}
	errs[len(found)] = removeStates(left)
	var all Removed
	for _, one := range removed {
		all.add(one)
	}
	return all, errors.Join(errs...)
}

// Delete removes one cluster, complete or partial, without attaching to it. It repeatedly finds and removes parts of the cluster
// until none is left, because kind may still be creating some.
func Delete(ctx context.Context, e Engine, name string) (Removed, error) {
	ctx, cancel := context.WithTimeout(ctx, deleteWithin)
	defer cancel()
	var all Removed
	for range 5 { // usually the second attempt finds nothing; the others handle parts that appear meanwhile
		found, err := find(ctx, e, name)
		if err != nil {
			return all, fmt.Errorf("remove cluster %s: %w", name, err)
		}
		if found.Nothing() {
			return all, forget(name)
		}
		if err := removeParts(ctx, e, found); err != nil {
			return all, fmt.Errorf("remove cluster %s: %w", name, err)
		}
		all.add(found)
	}
	return all, fmt.Errorf("remove cluster %s: parts of it reappear; is another process creating it?", name)
}

// deleteContainers removes only the containers of a cluster. kind would recreate its network without our labels.
func deleteContainers(ctx context.Context, e Engine, name string) error {
	found, err := find(ctx, e, name)
	if err != nil {
		return err
	}
	return removeParts(ctx, e, Removed{Containers: found.Containers})
}

// find lists what the engine has of one cluster.
func find(ctx context.Context, e Engine, name string) (Removed, error) {
	all, err := List(ctx, e)
	if err != nil {
		return Removed{}, err
	}
	for _, summary := range all {
		if summary.Name == name {
			return Removed{
				Containers: slices.Sorted(maps.Keys(summary.Containers)),
				Volumes:    summary.Volumes, Networks: summary.Networks,
			}, nil
		}
	}
	return Removed{}, nil
}

// removeParts removes containers first, because an engine keeps volumes and networks that are in use. An object that is already
// gone is no error. Neither is a container that is still dying: podman kills it, but waits only a few seconds for its processes
// to exit. Before each retry, frozen processes are unfrozen: podman was seen to forget a container on the retry and to leave
// its frozen processes behind.
func removeParts(ctx context.Context, e Engine, parts Removed) error {
	rm := []string{"rm", "--force", "--volumes"}
	if e.Name() == engine.Podman {
		rm = append(rm, "--time", "0") // otherwise podman first asks each node to stop, and waits ten seconds
	}
	for _, step := range []struct {
		command []string
		names   []string
	}{
		{rm, parts.Containers},
		{[]string{"volume", "rm", "--force"}, parts.Volumes},
		{[]string{"network", "rm"}, parts.Networks},
	} {
		if len(step.names) == 0 {
			continue
		}
		_, err := e.Output(ctx, append(step.command, step.names...)...)
		for isEnding(err) && ctx.Err() == nil {
			if err := unfreeze("", err.Error()); err != nil {
				return err
			}
			ending := err
			if _, err = e.Output(ctx, append(step.command, step.names...)...); ctx.Err() != nil && err != nil {
				return fmt.Errorf("%w; before that: %w", err, ending) // the time limit passed: the earlier error names the cause
			}
		}
		if err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}

// isEnding reports whether a container was killed but has not exited yet.
func isEnding(err error) bool {
	return err != nil && strings.Contains(err.Error(), "did not die within timeout")
}
