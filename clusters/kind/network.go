package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// network is a container network as the engine describes it. The field names of podman and docker differ only in case.
type network struct {
	Name    string
	Labels  map[string]string
	Subnets []struct{ Subnet string }                  // podman
	IPAM    struct{ Config []struct{ Subnet string } } // docker
}

// reserve creates the bridge network of a cluster. Each cluster has its own, so that concurrent runs share nothing. The
// network also reserves the cluster's name, because network names are unique in an engine.
func reserve(ctx context.Context, e Engine, name string, r clusterRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the record of cluster %s: %w", name, err)
	}
	args := []string{
		"network", "create", "--driver", "bridge",
		"--label", labelCluster + "=" + name, "--label", labelRecord + "=" + string(text),
	}
	if e.Name() == engine.Docker {
		return makeDockerNetwork(ctx, e, name, args)
	}
	if _, err := e.Output(ctx, append(args, prefix+name)...); err != nil {
		return networkError(name, err)
	}
	return nil
}

// makeDockerNetwork creates the network twice. docker preserves a container's address over a restart only if the network was
// created with an explicit subnet. The first network shows which subnet is free.
func makeDockerNetwork(ctx context.Context, e Engine, name string, args []string) error {
	mtu, err := e.Output(ctx, "network", "inspect", "bridge", "--format", `{{index .Options "com.docker.network.driver.mtu"}}`)
	if size := strings.TrimSpace(string(mtu)); err == nil && size != "" && size != "0" {
		args = append(args, "--opt", "com.docker.network.driver.mtu="+size) // the MTU of the host's uplink, which is smaller in many clouds
	}
	if _, err := e.Output(ctx, append(args, prefix+name)...); err != nil {
		return networkError(name, err)
	}
	made, err := inspectNetwork(ctx, e, name)
	if err != nil {
		return err
	}
	if len(made.IPAM.Config) == 0 {
		return nil // nodes may get a new address when they restart; kind's entrypoint handles that
	}
	if _, err := e.Output(ctx, "network", "rm", prefix+name); err != nil {
		return networkError(name, err)
	}
	if _, err := e.Output(ctx, append(args, "--subnet", made.IPAM.Config[0].Subnet, prefix+name)...); err != nil {
		return networkError(name, err)
	}
	return nil
}

// errTaken means that a cluster of this name already exists.
var errTaken = errors.New("exists already")

func networkError(name string, err error) error {
	if strings.Contains(err.Error(), "already") { // podman: "network already exists" or "already used"; docker: "already exists"
		return fmt.Errorf("it %w: choose another name, or remove it with 'holdfast down %s'", errTaken, name)
	}
	return fmt.Errorf("make the network of cluster %s: %w", name, err)
}

// NotFoundError says that a cluster does not exist. It is an fs.ErrNotExist.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string { return "cluster " + e.Name + " does not exist" }

// Is makes the error an fs.ErrNotExist.
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// inspectNetwork returns the network of a cluster. The error is fs.ErrNotExist if there is none.
func inspectNetwork(ctx context.Context, e Engine, name string) (network, error) {
	out, err := e.Output(ctx, "network", "inspect", prefix+name)
	if err != nil {
		if isGone(err) {
			return network{}, &NotFoundError{name}
		}
		return network{}, fmt.Errorf("find the network of cluster %s: %w", name, err)
	}
	var found []network
	if err := json.Unmarshal(out, &found); err != nil || len(found) == 0 {
		return network{}, fmt.Errorf("read the network of cluster %s: %w", name, errors.Join(err, fmt.Errorf("%d found", len(found))))
	}
	return found[0], nil
}
