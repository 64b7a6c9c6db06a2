package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// removeWithin bounds the removal of one cluster. Measured: 8 nodes take 3 s; docker's disk cleanup may take longer.
const removeWithin = 3 * time.Minute

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
func DeleteAll(ctx context.Context, e *engine.Engine) (Removed, error) { return deleteAll(ctx, e) }

func deleteAll(ctx context.Context, e runner) (Removed, error) {
	found, err := list(ctx, e)
	if err != nil {
		return Removed{}, err
	}
	removed := make([]Removed, len(found))
	errs := make([]error, len(found)+1)
	var group errgroup.Group
	group.SetLimit(2) // one removal alone keeps the engine busy
	for i, summary := range found {
		group.Go(func() error {
			removed[i], errs[i] = remove(ctx, e, summary.Name)
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

// removeStates removes the kubeconfigs and other files of all clusters except those that are left.
func removeStates(left []string) error {
	dir, err := stateDir("")
	if err != nil {
		return err
	}
	if len(left) == 0 {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove the kubeconfigs: %w", err)
		}
		return nil
	}
	states, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the kubeconfigs: %w", err)
	}
	for _, state := range states {
		if slices.Contains(left, state.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, state.Name())); err != nil {
			return fmt.Errorf("remove the kubeconfig of %s: %w", state.Name(), err)
		}
	}
	return nil
}

// Delete removes one cluster, complete or partial, without attaching to it.
func Delete(ctx context.Context, e *engine.Engine, name string) (Removed, error) {
	return remove(ctx, e, name)
}

// remove repeatedly finds and removes parts of a cluster until none is left, because kind may still be creating some.
func remove(ctx context.Context, e runner, name string) (Removed, error) {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
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

// removeMachines removes only the containers of a cluster. kind would recreate its network without our labels.
func removeMachines(ctx context.Context, e runner, name string) error {
	found, err := find(ctx, e, name)
	if err != nil {
		return err
	}
	return removeParts(ctx, e, Removed{Containers: found.Containers})
}

// find lists what the engine has of one cluster.
func find(ctx context.Context, e runner, name string) (Removed, error) {
	all, err := list(ctx, e)
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
func removeParts(ctx context.Context, e runner, parts Removed) error {
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
			if err := unfreeze(freezers, err.Error()); err != nil {
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

func forget(name string) error {
	dir, err := stateDir(name)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the files of cluster %s: %w", name, err)
	}
	return nil
}

// children counts the running child processes of this process whose command line names the cluster. kind runs one engine
// command per node in parallel, and returns at the first error while the others still create containers. Without /proc the
// count is zero.
func children(name string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // Glob fails only on a malformed pattern
	var count int
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil || parentOf(string(stat)) != os.Getpid() {
			continue
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err == nil && strings.Contains(string(command), Prefix+name+"-") {
			count++
		}
	}
	return count
}

// parentOf parses the parent PID from /proc/PID/stat: the second field after the process name. The name is in parentheses and
// may contain any character.
func parentOf(stat string) int {
	_, after, _ := cutLast(stat, ")")
	fields := strings.Fields(after)
	if len(fields) < 2 {
		return 0
	}
	var parent int
	_, _ = fmt.Sscan(fields[1], &parent) // zero, which is no valid PID, if it cannot be parsed
	return parent
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}
