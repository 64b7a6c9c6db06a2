package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// fakeEngine simulates a container engine: it stores what it is told, and returns what an engine would return.
type fakeEngine struct {
	Containers map[string]*fakeContainer
	Volumes    map[string]string            // labels as printed, by name
	Networks   map[string]map[string]string // labels by name
	Calls      []string                     // the commands so far
	// Fail is called before each command and may return an error. Exec answers commands in containers.
	Fail func(args []string) error
	Exec func(container string, command []string) ([]byte, error)

	name string // "podman" or "docker"
	mu   sync.Mutex
	next int // last byte of the next address
}

// fakeContainer is a container of an Engine.
type fakeContainer struct {
	State, IP, MAC string
	ID             string
	Volumes        []string

	static bool // the address was set explicitly
}

// newFakeEngine returns an engine without containers. Its name is that of a real engine.
func newFakeEngine(name string) *fakeEngine {
	return &fakeEngine{
		name: name, Containers: map[string]*fakeContainer{}, Volumes: map[string]string{},
		Networks: map[string]map[string]string{}, next: 2,
	}
}

// Name is the name that was passed to New.
func (f *fakeEngine) Name() string { return f.name }

// Command is a real process that reads its input and exits successfully.
func (f *fakeEngine) Command(ctx context.Context, args ...string) *exec.Cmd {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Calls = append(f.Calls, strings.Join(args, " "))
	return exec.CommandContext(ctx, "sh", "-c", "cat >/dev/null")
}

// Output performs a command and returns what an engine would print.
func (f *fakeEngine) Output(ctx context.Context, args ...string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Calls = append(f.Calls, strings.Join(args, " "))
	if f.Fail != nil {
		if err := f.Fail(args); err != nil {
			return nil, err
		}
	}
	last := args[len(args)-1]
	switch verb := strings.Join(args[:min(2, len(args))], " "); {
	case args[0] == "exec":
		return f.Exec(args[2], args[3:])
	case args[0] == "ps":
		return []byte(strings.Join(slices.Sorted(maps.Keys(f.Containers)), "\n")), nil
	case args[0] == "inspect":
		return f.inspect(args)
	case args[0] == "rm":
		f.rm(args)
		return nil, nil
	case verb == "network ls":
		return []byte(strings.Join(slices.Sorted(maps.Keys(f.Networks)), "\n")), nil
	case verb == "network create":
		return nil, f.createNetwork(args)
	case verb == "network inspect":
		return f.inspectNetwork(last)
	case verb == "network rm":
		delete(f.Networks, last)
		return nil, nil
	case verb == "network disconnect":
		*f.Containers[last] = fakeContainer{State: f.Containers[last].State}
		return nil, nil
	case verb == "network connect":
		c := f.Containers[last]
		f.give(c)
		if at := slices.Index(args, "--ip"); at > 0 {
			c.static, c.IP = true, args[at+1]
		}
		return nil, nil
	case verb == "volume ls":
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(f.Volumes)) {
			fmt.Fprintf(&out, "%s\t%s\n", name, f.Volumes[name])
		}
		return []byte(out.String()), nil
	case verb == "volume rm":
		for _, name := range args[3:] {
			delete(f.Volumes, name)
		}
		return nil, nil
	case args[0] == "image" || args[0] == "pull":
		return nil, nil
	case args[0] == "info":
		return []byte("v1\n"), nil
	}
	return f.change(args[0], last)
}

func (f *fakeEngine) inspect(args []string) ([]byte, error) {
	format := args[4]
	var out strings.Builder
	for _, name := range args[5:] {
		c := f.Containers[name]
		switch {
		case c == nil:
			return nil, errors.New("run podman inspect: exit status 125: Error: no such container " + name)
		case strings.Contains(format, "Mounts"):
			fmt.Fprintln(&out, name, c.State, strings.Join(c.Volumes, " "))
		case strings.Contains(format, "IPAddress") && c.State == "running":
			fmt.Fprintln(&out, name, c.IP, c.MAC)
		case strings.Contains(format, "IPAddress"):
			fmt.Fprintln(&out, name)
		case format == "{{.Id}}":
			fmt.Fprintln(&out, c.ID)
		case strings.Contains(format, "State.Status"):
			fmt.Fprintln(&out, c.State)
		}
	}
	return []byte(out.String()), nil
}

func (f *fakeEngine) rm(args []string) {
	for _, name := range args[1:] {
		if c := f.Containers[name]; c != nil {
			for _, volume := range c.Volumes {
				delete(f.Volumes, volume)
			}
			delete(f.Containers, name)
		}
	}
}

func (f *fakeEngine) createNetwork(args []string) error {
	name, labels := args[len(args)-1], map[string]string{}
	if f.Networks[name] != nil {
		return errors.New("run podman network create: exit status 125: Error: network " + name + " already exists")
	}
	for i, arg := range args {
		if arg == "--label" {
			key, value, _ := strings.Cut(args[i+1], "=")
			labels[key] = value
		}
	}
	f.Networks[name] = labels
	return nil
}

func (f *fakeEngine) inspectNetwork(name string) ([]byte, error) {
	if name == "{{index .Options \"com.docker.network.driver.mtu\"}}" {
		return []byte("1450\n"), nil
	}
	if f.Networks[name] == nil {
		return nil, errors.New("run podman network inspect: exit status 125: Error: network not found: " + name)
	}
	return json.Marshal([]any{map[string]any{
		"name": name, "labels": f.Networks[name],
		"IPAM": map[string]any{"Config": []any{map[string]any{"Subnet": "172.20.0.0/16"}}},
	}})
}

// change performs an action on one container, if the container's state allows it.
func (f *fakeEngine) change(verb, name string) ([]byte, error) {
	c := f.Containers[name]
	if c == nil {
		return nil, errors.New("Error: no such container " + name)
	}
	if verb == "update" {
		return nil, nil
	}
	moves := map[string][2]string{
		"kill": {"running", "exited"}, "stop": {"running", "exited"}, "start": {"exited", "running"},
		"pause": {"running", "paused"}, "unpause": {"paused", "running"},
	}
	move, known := moves[verb]
	if !known {
		return nil, fmt.Errorf("the fake engine does not know %q", verb)
	}
	if c.State != move[0] {
		return nil, fmt.Errorf("run podman %s: exit status 125: Error: %s is in state %s: container state improper", verb, name, c.State)
	}
	c.State = move[1]
	if verb == "start" && !c.static {
		f.give(c)
	}
	return nil, nil
}

// give assigns the next address to a container, as podman does.
func (f *fakeEngine) give(c *fakeContainer) {
	c.IP, c.MAC = fmt.Sprintf("10.89.0.%d", f.next), fmt.Sprintf("02:00:00:00:00:%02x", f.next)
	f.next++
}

// Run adds a running container with a volume, as kind creates it for podman.
func (f *fakeEngine) Run(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &fakeContainer{State: "running", Volumes: []string{"vol-" + name}}
	f.give(c)
	f.Containers[name] = c
	f.Volumes["vol-"+name] = "map[" + name + ":true]"
}

// Called are the commands so far that contain a text.
func (f *fakeEngine) Called(with string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []string
	for _, call := range f.Calls {
		if strings.Contains(call, with) {
			found = append(found, call)
		}
	}
	return found
}

// Answer is an Exec: it makes curl on any node print an HTTP status, or 000 if the probed node is not running.
func (f *fakeEngine) Answer(_ string, command []string) ([]byte, error) {
	url := command[len(command)-1]
	for _, c := range f.Containers {
		if strings.Contains(url, "//"+c.IP+":") && c.State == "running" {
			return []byte("401"), nil
		}
	}
	return []byte("000"), nil
}
