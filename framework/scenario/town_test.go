package scenario

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads"
)

// town is a cluster of machines in memory, with an API server.
type town struct {
	*api
	name     string
	spec     clusters.Spec
	machines []*machine
	// What LoadImage does.
	loadErr    error
	loaded     []clusters.Image // what it was asked for
	loadPanics bool
	// logs is called when the logs are to be collected.
	logs func(ctx context.Context, dir string) error
}

// newTown has a control plane, a node for the load, and workers as asked for.
func newTown(name string, spec clusters.Spec) *town {
	t := &town{api: newAPI(), name: name, spec: spec.WithDefaults()}
	t.settle("cp", clusters.ControlPlane, "")
	t.settle("load", clusters.LoadNode, "")
	for _, zone := range spec.Zones {
		for i := range t.spec.WorkersPerZone {
			t.settle("w"+zone+string(rune('1'+i)), clusters.Worker, zone)
		}
	}
	return t
}

func (t *town) settle(name string, role clusters.Role, zone string) {
	t.machines = append(t.machines, &machine{name: name, role: role, zone: zone, state: clusters.Running})
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		clusters.LabelRole: string(role), workloads.Host: name,
	}}}
	if zone != "" {
		n.Labels[clusters.LabelZone] = zone
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: "fc00::" + name},
		{Type: corev1.NodeInternalIP, Address: "172.18.0." + name},
	}
	t.put("/api/v1/nodes", n)
}

func (t *town) Name() string         { return t.name }
func (t *town) Spec() clusters.Spec  { return t.spec }
func (t *town) Config() *rest.Config { return t.config() }
func (t *town) Nodes() (all []clusters.Node) {
	for _, m := range t.machines {
		all = append(all, m)
	}
	return all
}
func (t *town) LoadImage(_ context.Context, i clusters.Image) error {
	t.loaded = append(t.loaded, i)
	if t.loadPanics {
		panic("a bug in LoadImage")
	}
	return t.loadErr
}
func (t *town) CollectLogs(ctx context.Context, dir string) error {
	if t.logs == nil {
		return nil
	}
	return t.logs(ctx, dir)
}
func (t *town) Delete(context.Context) error {
	return errors.New("the run closes clusters, it deletes none")
}

// editNode changes a node as its kubelet or an administrator would.
func (t *town) editNode(name string, edit func(*corev1.Node)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.objects["/api/v1/nodes/"+name].(*corev1.Node)
	edit(n)
	t.put("/api/v1/nodes", n)
}

// label changes the role of all nodes that have it, so that no pod finds them.
func (t *town) label(role, to string) {
	for _, m := range t.machines {
		t.editNode(m.name, func(n *corev1.Node) {
			if n.Labels[clusters.LabelRole] == role {
				n.Labels[clusters.LabelRole] = to
			}
		})
	}
}

// has tells whether an object exists.
func (t *town) has(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.objects[path] != nil
}

// machine is a node; what these tests do not need panics.
type machine struct {
	clusters.Node
	name string
	role clusters.Role
	zone string

	mu    sync.Mutex
	state clusters.NodeState
	err   error // of State
	exec  func(command []string) ([]byte, error)
	stays error // what keeps it from being Ready, when it is started or thawed
}

func (m *machine) Name() string        { return m.name }
func (m *machine) Role() clusters.Role { return m.role }
func (m *machine) Zone() string        { return m.zone }
func (m *machine) State(context.Context) (clusters.NodeState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, m.err
}
func (m *machine) Exec(_ context.Context, command ...string) ([]byte, error) { return m.exec(command) }

// Start and Resume do what an engine would: neither does the other's work.
func (m *machine) Start(context.Context) error  { return m.goOn(clusters.Paused) }
func (m *machine) Resume(context.Context) error { return m.goOn(clusters.Exited) }

func (m *machine) goOn(not clusters.NodeState) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == not {
		return errors.New(m.name + " is " + string(not))
	}
	m.state = clusters.Running
	return m.stays
}

// become changes what the engine says of the machine.
func (m *machine) become(s clusters.NodeState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = s
}

// county is a run whose clusters are towns, and what was done with them.
type county struct {
	*run
	t     *testing.T
	out   bytes.Buffer // what a person is told
	towns []*town
	did   []string
	// founded is called with each new town.
	founded func(*town)
	openErr error
}

func newCounty(t *testing.T) *county {
	t.Helper()
	dir := t.TempDir()
	c := &county{t: t}
	s := &Settings{
		RunID: "r1", Started: time.Unix(0, 0), Dir: filepath.Join(dir, "r1"), Version: "v1.2.3", Seed: 4711,
		Reproduce:  func(name, kubernetes string) string { return "again " + name + " " + kubernetes },
		Executable: program(t), CacheDir: dir, Progress: NewProgress(&c.out, 0),
		Open: c.open, Close: c.close,
		Describe: func(k clusters.Cluster) ClusterFacts {
			return ClusterFacts{Provider: "town", Engine: "memory", Image: "none", Kubernetes: k.Spec().Kubernetes}
		},
	}
	c.founded = c.witness
	c.run = &run{settings: s, pool: pool{settings: s}, token: "ours"}
	return c
}

// witness has the county note when logs are collected and a namespace is cleared away, and what run.json says by then of
// the scenario at hand.
func (c *county) witness(t *town) {
	said := func() string {
		f, err := history.ReadRunFile(c.settings.Dir)
		if err != nil {
			return "nothing yet"
		}
		last := f.Scenarios[len(f.Scenarios)-1]
		return last.Outcome + last.Error + last.Interrupted
	}
	t.logs = func(_ context.Context, dir string) error {
		below, err := filepath.Rel(c.settings.Dir, dir)
		c.did = append(c.did, "keep "+below+" of what is "+said())
		return err
	}
	t.refuse = func(method, at string) *apierrors.StatusError {
		if method == http.MethodDelete && path.Base(path.Dir(at)) == "namespaces" {
			c.did = append(c.did, "clear "+path.Base(at)+", "+said())
		}
		return nil
	}
}

func (c *county) open(_ context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
	c.did = append(c.did, "open "+name)
	if c.openErr != nil {
		return nil, c.openErr
	}
	if spec.Kubernetes == "" {
		spec.Kubernetes = "v1.37.0"
	}
	t := newTown(name, spec)
	c.towns = append(c.towns, t)
	c.founded(t)
	return t, nil
}

// close fails like an engine's command whose context has ended.
func (c *county) close(ctx context.Context, k clusters.Cluster) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.did = append(c.did, "close "+k.Name())
	return nil
}

// recorded is the record of a scenario, from its folder.
func (c *county) recorded(s Spec) history.Run {
	c.t.Helper()
	r, err := history.Open(filepath.Join(c.settings.Dir, filepath.FromSlash(s.Name)))
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// kept is run.json.
func (c *county) kept() history.RunFile {
	c.t.Helper()
	f, err := history.ReadRunFile(c.settings.Dir)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// troubles of a record, in words.
func troubles(r history.Run) (words []string) {
	for _, e := range r.Troubles() {
		words = append(words, e.Trouble.What)
	}
	return words
}

// phases of a record, by name, in order.
func phases(r history.Run) (names []history.PhaseName) {
	for _, p := range r.Phases() {
		names = append(names, p.Name)
	}
	return names
}

// program is the shortest file that passes for a static executable of this machine: the header of one.
// Source: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
func program(t *testing.T) string {
	t.Helper()
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01")
	machines := map[string]uint16{"amd64": 62, "arm64": 183}
	binary.LittleEndian.PutUint16(header[16:], 2) // an executable
	binary.LittleEndian.PutUint16(header[18:], machines[runtime.GOARCH])
	binary.LittleEndian.PutUint32(header[20:], 1)
	binary.LittleEndian.PutUint16(header[52:], 64)
	file := filepath.Join(t.TempDir(), "holdfast")
	if err := os.WriteFile(file, header, 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}
