package run

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// fixture is a run on clusters in memory, and what was done with them.
type fixture struct {
	*runner
	t       *testing.T
	out     bytes.Buffer // the progress
	created []*clustertest.Cluster
	did     []string
	// onCreate is called with each new cluster.
	onCreate func(*clustertest.Cluster)
	openErr  error
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	c := &fixture{t: t}
	s := &Settings{
		RunID: "r1", Started: time.Unix(0, 0), Dir: filepath.Join(dir, "r1"), Version: "v1.2.3", Options: Options{Seed: 4711},
		Reproduce:  func(name, kubernetes string) string { return "again " + name + " " + kubernetes },
		Executable: program(t), CacheDir: dir, Progress: progress.New(&c.out, 0),
		Open: c.open, Close: c.close,
		Describe: func(k clusters.Cluster) ClusterFacts {
			return ClusterFacts{Provider: "fake", Engine: "memory", Image: "none", Kubernetes: k.Spec().Kubernetes}
		},
	}
	c.onCreate = c.witness
	c.runner = &runner{settings: s, pool: &Pool{settings: s}, token: "ours"}
	return c
}

func (c *fixture) note(did string) {
	c.did = append(c.did, did)
}

// witness notes when logs are collected and when a namespace is deleted, each with the scenario's result in run.json at
// that moment.
func (c *fixture) witness(t *clustertest.Cluster) {
	said := func() string {
		f, err := runfolder.ReadFile(c.settings.Dir)
		if err != nil {
			return "nothing yet"
		}
		last := f.Scenarios[len(f.Scenarios)-1]
		return last.Outcome + last.Error + last.Interrupted
	}
	t.OnLogs = func(_ context.Context, dir string) error {
		below, err := filepath.Rel(c.settings.Dir, dir)
		c.note("keep " + below + " of what is " + said())
		return err
	}
	t.Refuse = func(method, at string) *apierrors.StatusError {
		if method == http.MethodDelete && path.Base(path.Dir(at)) == "namespaces" {
			c.note("clear " + path.Base(at) + ", " + said())
		}
		return nil
	}
}

func (c *fixture) open(_ context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
	c.note("open " + name)
	if c.openErr != nil {
		return nil, c.openErr
	}
	if spec.Kubernetes == "" {
		spec.Kubernetes = "v1.37.0"
	}
	t := clustertest.New(name, spec)
	c.created = append(c.created, t)
	c.onCreate(t)
	return t, nil
}

// close fails as an engine's command fails after its context has ended.
func (c *fixture) close(ctx context.Context, k clusters.Cluster) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.note("close " + k.Name())
	return nil
}

// recorded is the record of a scenario, from its folder.
func (c *fixture) recorded(s scenario.Spec) history.Run {
	c.t.Helper()
	r, err := history.Open(filepath.Join(c.settings.Dir, filepath.FromSlash(s.Name)))
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// kept is run.json.
func (c *fixture) kept() runfolder.File {
	c.t.Helper()
	f, err := runfolder.ReadFile(c.settings.Dir)
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
