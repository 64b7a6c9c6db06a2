package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
)

// Summary describes a holdfast cluster, or what a crash has left of one.
type Summary struct {
	Name string
	// Spec and Made are zero if the network that stores them is gone.
	Spec clusters.Spec
	Made time.Time
	// Containers are the container states by container name.
	Containers map[string]clusters.NodeState
	Volumes    []string
	Networks   []string
}

// List returns every holdfast cluster of which the engine has any container, volume or network, sorted by name.
func List(ctx context.Context, e Engine) ([]Summary, error) {
	stock := stocktaking{e: e, clusters: map[string]*Summary{}}
	for _, step := range []func(context.Context) error{stock.networks, stock.containers, stock.volumes} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("list clusters: %w", err)
		}
	}
	var all []Summary
	for _, name := range slices.Sorted(maps.Keys(stock.clusters)) {
		all = append(all, *stock.clusters[name])
	}
	return all, nil
}

type stocktaking struct {
	e        Engine
	clusters map[string]*Summary
}

func (s *stocktaking) of(name string) *Summary {
	if s.clusters[name] == nil {
		s.clusters[name] = &Summary{Name: name, Containers: map[string]clusters.NodeState{}}
	}
	return s.clusters[name]
}

func (s *stocktaking) networks(ctx context.Context) error {
	found, err := lines(ctx, s.e, "network", "ls", "--filter", "label="+labelCluster, "--format", "{{.Name}}")
	if err != nil {
		return err
	}
	for _, full := range found {
		name, ours := strings.CutPrefix(full, prefix)
		if !ours {
			continue
		}
		summary := s.of(name)
		summary.Networks = append(summary.Networks, full)
		described, err := inspectNetwork(ctx, s.e, name)
		if err != nil {
			continue // another process has just removed it
		}
		if r, err := described.record(); err == nil {
			summary.Spec, summary.Made = r.Spec, r.Made
		}
	}
	return nil
}

func (s *stocktaking) containers(ctx context.Context) error {
	found, err := lines(ctx, s.e, "ps", "--all", "--filter", "label="+kindClusterLabel, "--format", "{{.Names}}")
	if err != nil {
		return err
	}
	ours := slices.DeleteFunc(found, func(container string) bool { return clusterOf(container) == "" })
	if len(ours) == 0 {
		return nil
	}
	// Docker does not label anonymous volumes with their container, so each container is inspected for its volumes.
	const format = `{{.Name}} {{.State.Status}}{{range .Mounts}}{{if eq .Type "volume"}} {{.Name}}{{end}}{{end}}`
	described, err := lines(ctx, s.e, append([]string{"inspect", "--type", "container", "--format", format}, ours...)...)
	if err != nil && !isGone(err) {
		return err
	}
	for _, line := range described {
		if err := s.container(strings.Fields(line)); err != nil {
			return fmt.Errorf("read %q: %w", line, err)
		}
	}
	return nil
}

// container records the name, state and volumes of one container.
func (s *stocktaking) container(fields []string) error {
	if len(fields) < 2 {
		return errors.New("want a name and a state")
	}
	full := strings.TrimPrefix(fields[0], "/") // docker prefixes names with a slash
	state, err := nodeState(fields[1])
	if err != nil {
		return err
	}
	summary := s.of(clusterOf(full))
	summary.Containers[full] = state
	summary.addVolumes(fields[2:]...)
	return nil
}

// volumes finds the labelled volumes that kind creates for a podman container. They may exist without a container.
func (s *stocktaking) volumes(ctx context.Context) error {
	found, err := lines(ctx, s.e, "volume", "ls", "--format", "{{.Name}}\t{{.Labels}}")
	if err != nil {
		return err
	}
	for _, line := range found {
		volume, labels, _ := strings.Cut(line, "\t")
		if name := clusterOfVolume(labels); name != "" {
			s.of(name).addVolumes(volume)
		}
	}
	return nil
}

func (s *Summary) addVolumes(volumes ...string) {
	for _, volume := range volumes {
		if !slices.Contains(s.Volumes, volume) {
			s.Volumes = append(s.Volumes, volume)
		}
	}
}
