package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/holdfast-ha/holdfast/clusters"
)

// fakeEngine simulates a container engine: it stores what it is told, and returns what an engine would return.
type fakeEngine struct {
	name string // "podman" or "docker"

	mu         sync.Mutex
	containers map[string]*fakeContainer
	volumes    map[string]string // labels as printed, by name
	networks   map[string]map[string]string
	calls      []string
	// fail is called before each command and may return an error. exec answers commands in containers.
	fail func(args []string) error
	exec func(container string, command []string) ([]byte, error)
	next int // last byte of the next address
}

type fakeContainer struct {
	state, ip, mac string
	id             string
	static         bool // the address was set explicitly
	volumes        []string
}

func newFakeEngine(name string) *fakeEngine {
	return &fakeEngine{
		name: name, containers: map[string]*fakeContainer{}, volumes: map[string]string{},
		networks: map[string]map[string]string{}, next: 2,
	}
}

func (f *fakeEngine) Name() string { return f.name }

// Command is a real process that reads its input and exits successfully.
func (f *fakeEngine) Command(ctx context.Context, args ...string) *exec.Cmd {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(args, " "))
	return exec.CommandContext(ctx, "sh", "-c", "cat >/dev/null")
}

func (f *fakeEngine) Output(ctx context.Context, args ...string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(args, " "))
	if f.fail != nil {
		if err := f.fail(args); err != nil {
			return nil, err
		}
	}
	last := args[len(args)-1]
	switch verb := strings.Join(args[:min(2, len(args))], " "); {
	case args[0] == "exec":
		return f.exec(args[2], args[3:])
	case args[0] == "ps":
		return []byte(strings.Join(keys(f.containers), "\n")), nil
	case args[0] == "inspect":
		return f.inspect(args)
	case args[0] == "rm":
		return nil, f.rm(args)
	case verb == "network ls":
		return []byte(strings.Join(keys(f.networks), "\n")), nil
	case verb == "network create":
		return nil, f.createNetwork(args)
	case verb == "network inspect":
		return f.inspectNetwork(last)
	case verb == "network rm":
		delete(f.networks, last)
		return nil, nil
	case verb == "network disconnect":
		*f.containers[last] = fakeContainer{state: f.containers[last].state}
		return nil, nil
	case verb == "network connect":
		c := f.containers[last]
		f.give(c)
		if at := slices.Index(args, "--ip"); at > 0 {
			c.static, c.ip = true, args[at+1]
		}
		return nil, nil
	case verb == "volume ls":
		var out strings.Builder
		for _, name := range keys(f.volumes) {
			fmt.Fprintf(&out, "%s\t%s\n", name, f.volumes[name])
		}
		return []byte(out.String()), nil
	case verb == "volume rm":
		for _, name := range args[3:] {
			delete(f.volumes, name)
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
		c := f.containers[name]
		switch {
		case c == nil:
			return nil, errors.New("run podman inspect: exit status 125: Error: no such container " + name)
		case strings.Contains(format, "Mounts"):
			fmt.Fprintln(&out, name, c.state, strings.Join(c.volumes, " "))
		case strings.Contains(format, "IPAddress") && c.state == "running":
			fmt.Fprintln(&out, c.ip, c.mac)
		case format == "{{.Id}}":
			fmt.Fprintln(&out, c.id)
		case strings.Contains(format, "State.Status"):
			fmt.Fprintln(&out, c.state)
		}
	}
	return []byte(out.String()), nil
}

func (f *fakeEngine) rm(args []string) error {
	for _, name := range args[1:] {
		if c := f.containers[name]; c != nil {
			for _, volume := range c.volumes {
				delete(f.volumes, volume)
			}
			delete(f.containers, name)
		}
	}
	return nil
}

func (f *fakeEngine) createNetwork(args []string) error {
	name, labels := args[len(args)-1], map[string]string{}
	if f.networks[name] != nil {
		return errors.New("run podman network create: exit status 125: Error: network " + name + " already exists")
	}
	for i, arg := range args {
		if arg == "--label" {
			key, value, _ := strings.Cut(args[i+1], "=")
			labels[key] = value
		}
	}
	f.networks[name] = labels
	return nil
}

func (f *fakeEngine) inspectNetwork(name string) ([]byte, error) {
	if name == "{{index .Options \"com.docker.network.driver.mtu\"}}" {
		return []byte("1450\n"), nil
	}
	if f.networks[name] == nil {
		return nil, errors.New("run podman network inspect: exit status 125: Error: network not found: " + name)
	}
	return json.Marshal([]any{map[string]any{
		"name": name, "labels": f.networks[name],
		"IPAM": map[string]any{"Config": []any{map[string]any{"Subnet": "172.20.0.0/16"}}},
	}})
}

// change performs an action on one container, if the container's state allows it.
func (f *fakeEngine) change(verb, name string) ([]byte, error) {
	c := f.containers[name]
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
	if c.state != move[0] {
		return nil, fmt.Errorf("run podman %s: exit status 125: Error: %s is in state %s: container state improper", verb, name, c.state)
	}
	c.state = move[1]
	if verb == "start" && !c.static {
		f.give(c)
	}
	return nil, nil
}

// give assigns the next address to a container, as podman does.
func (f *fakeEngine) give(c *fakeContainer) {
	c.ip, c.mac = fmt.Sprintf("10.89.0.%d", f.next), fmt.Sprintf("02:00:00:00:00:%02x", f.next)
	f.next++
}

// run adds a running container with a volume, as kind creates it for podman.
func (f *fakeEngine) run(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &fakeContainer{state: "running", volumes: []string{"vol-" + name}}
	f.give(c)
	f.containers[name] = c
	f.volumes["vol-"+name] = "map[" + name + ":true]"
}

func (f *fakeEngine) called(with string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []string
	for _, call := range f.calls {
		if strings.Contains(call, with) {
			found = append(found, call)
		}
	}
	return found
}

func keys[V any](m map[string]V) []string {
	var all []string
	for key := range m {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

var testSpec = clusters.Spec{Zones: []string{"a"}}.WithDefaults()

// fakeCluster is a cluster named x with a control plane, a worker and a load node, on a fakeEngine.
func fakeCluster(t *testing.T, e *fakeEngine) *Cluster {
	t.Helper()
	r := record{Spec: testSpec, Image: "node:v1.37.0", Made: time.Unix(0, 0).UTC()}
	if err := makeNetwork(t.Context(), e, "x", r); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{e: e, log: slog.Default(), name: "x", record: r, client: fake.NewClientset(), within: time.Minute}
	for _, m := range members("x", testSpec) {
		e.run(m.name)
		n := &Node{cluster: c, member: m}
		if err := n.learnAddress(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, n)
	}
	e.exec = func(string, []string) ([]byte, error) { return nil, errors.New("no answer") }
	e.calls = nil
	return c
}
