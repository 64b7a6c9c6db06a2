package e2eframework

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/holdfast-ha/holdfast/clusters"
)

// fakeSource has at most one cluster, and records the calls.
type fakeSource struct {
	there *fakeCluster
	spec  clusters.Spec
	did   []string
	err   error
	host  string // URL of the API server
}

func (f *fakeSource) create(_ context.Context, name string, spec clusters.Spec) (cluster, error) {
	if f.err != nil {
		return nil, f.err
	}
	f.did = append(f.did, "create "+name)
	f.spec = spec
	f.there = &fakeCluster{source: f, name: name}
	return f.there, nil
}

func (f *fakeSource) open(_ context.Context, name string) (cluster, error) {
	if f.there == nil {
		return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	f.did = append(f.did, "open "+name)
	return f.there, nil
}

func (f *fakeSource) saveImage(_ context.Context, image, path string) error {
	f.did = append(f.did, "save "+image)
	return os.WriteFile(path, []byte(image), 0o600)
}

type fakeCluster struct {
	source *fakeSource
	name   string
}

func (c *fakeCluster) note(what string) error {
	c.source.did = append(c.source.did, what)
	return c.source.err
}

func (c *fakeCluster) Name() string                { return c.name }
func (c *fakeCluster) Spec() clusters.Spec         { return c.source.spec }
func (c *fakeCluster) Config() *rest.Config        { return &rest.Config{Host: c.source.host} }
func (c *fakeCluster) Kubeconfig() (string, error) { return "/cache/" + c.name, nil }
func (c *fakeCluster) Prove(context.Context) error { return c.note("prove") }
func (c *fakeCluster) Delete(context.Context) error {
	if c.source.err == nil {
		c.source.there = nil
	}
	return c.note("delete")
}
func (c *fakeCluster) CollectLogs(_ context.Context, dir string) error { return c.note("logs " + dir) }

func (c *fakeCluster) LoadImage(_ context.Context, image clusters.Image) error {
	if _, err := os.Stat(image.Path); err != nil {
		return err
	}
	return c.note("load " + image.Ref)
}

func (c *fakeCluster) Nodes() []clusters.Node {
	return []clusters.Node{
		&fakeNode{cluster: c, name: "holdfast-x-control-plane", role: clusters.ControlPlane, state: clusters.Running},
		&fakeNode{cluster: c, name: "holdfast-x-worker", role: clusters.Worker, state: clusters.Exited},
	}
}

// fakeNode implements the methods that the tests use. Any other method panics.
type fakeNode struct {
	clusters.Node
	cluster *fakeCluster
	name    string
	role    clusters.Role
	state   clusters.NodeState
}

func (n *fakeNode) Name() string        { return n.name }
func (n *fakeNode) Role() clusters.Role { return n.role }
func (n *fakeNode) State(context.Context) (clusters.NodeState, error) {
	return n.state, n.cluster.source.err
}
func (n *fakeNode) Start(context.Context) error { return n.cluster.note("start " + n.name) }
func (n *fakeNode) Stop(context.Context) error  { return n.cluster.note("stop " + n.name) }

func TestLifeOfACluster(t *testing.T) {
	source := &fakeSource{}
	ctx := t.Context()
	p := &Provider{source: source}
	// The same calls as in envfuncs.CreateClusterWithOpts.
	var k support.E2EClusterProvider = p
	k = k.SetDefaults().WithName("x").WithVersion("v1.37.0").WithPath("/opt/kind").WithOpts(func(p support.E2EClusterProvider) {
		p.(*Provider).spec.Zones = []string{"a", "b"}
	})
	kubeconfig, err := k.Create(ctx)
	if err != nil || kubeconfig != "/cache/x" || k.GetKubeconfig() != "/cache/x" {
		t.Fatalf("kubeconfig %q and %q, %v", kubeconfig, k.GetKubeconfig(), err)
	}
	if got := k.GetKubectlContext(); got != "kind-holdfast-x" {
		t.Errorf("context %q", got)
	}
	want := clusters.Spec{Kubernetes: "v1.37.0", Zones: []string{"a", "b"}}.WithDefaults()
	if diff := cmp.Diff(want, source.spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	cycle := k.(support.E2EClusterProviderWithLifeCycle)
	images := k.(support.E2EClusterProviderWithImageLoader)
	worker := &support.Node{Name: "holdfast-x-worker"}
	if err := errors.Join(
		k.WaitForControlPlane(ctx, nil), cycle.StopNode(ctx, worker), cycle.StartNode(ctx, worker),
		images.LoadImage(ctx, "backend:1"), k.ExportLogs(ctx, "/logs"), k.Destroy(ctx), k.Destroy(ctx),
	); err != nil {
		t.Fatal(err)
	}
	did := []string{
		"create x", "prove", "stop holdfast-x-worker", "start holdfast-x-worker", "save backend:1", "load backend:1", "logs /logs", "delete",
	}
	if diff := cmp.Diff(did, source.did); diff != "" {
		t.Errorf("did (-want +got):\n%s", diff)
	}
}

func TestDestroyCanBeRepeated(t *testing.T) {
	source := &fakeSource{}
	p := &Provider{source: source, name: "x"}
	if _, err := p.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	source.err = errors.New("the engine crashed")
	if err := p.Destroy(t.Context()); !errors.Is(err, source.err) || p.Cluster() == nil {
		t.Errorf("%v, cluster %v; want the error, and the cluster", err, p.Cluster())
	}
	source.err = nil
	if err := p.Destroy(t.Context()); err != nil || p.Cluster() != nil {
		t.Errorf("%v, cluster %v; want none", err, p.Cluster())
	}
	if diff := cmp.Diff([]string{"create x", "delete", "delete"}, source.did); diff != "" {
		t.Errorf("did (-want +got):\n%s", diff)
	}
}

func TestCreateAttachesToWhatIsThere(t *testing.T) {
	source := &fakeSource{}
	source.there = &fakeCluster{source: source, name: "x"}
	p := (&Provider{source: source}).WithName("x")
	if _, err := p.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := (&Provider{source: source}).WithName("x").Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"open x", "open x", "delete"}, source.did); diff != "" {
		t.Errorf("did (-want +got):\n%s", diff)
	}
}

func TestBeforeCreate(t *testing.T) {
	p := &Provider{source: &fakeSource{}, name: "x"}
	ctx, node := t.Context(), &support.Node{Name: "n"}
	_, listed := p.ListNode(ctx)
	_, generated := p.GenerateKubeconfig()
	for what, err := range map[string]error{
		"wait": p.WaitForControlPlane(ctx, nil), "logs": p.ExportLogs(ctx, "d"), "start": p.StartNode(ctx, node), "stop": p.StopNode(ctx, node),
		"image": p.LoadImage(ctx, "i"), "archive": p.LoadImageArchive(ctx, "a"), "list": listed, "kubeconfig": generated,
	} {
		if err == nil || err.Error() != "cluster x was not created yet" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if p.Cluster() != nil || p.KubernetesRestConfig() != nil || p.GetKubeconfig() != "" {
		t.Error("the provider has a cluster before Create")
	}
}

func TestRefusals(t *testing.T) {
	source := &fakeSource{}
	p := &Provider{source: source, name: "x"}
	ctx, node := t.Context(), &support.Node{Name: "holdfast-x-worker7"}
	if _, err := p.Create(ctx, "--wait", "5m"); err == nil || !strings.Contains(err.Error(), `arguments ["--wait" "5m"]`) {
		t.Errorf("arguments: %v", err)
	}
	if _, err := p.Create(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.StopNode(ctx, node); err == nil || err.Error() != `node "holdfast-x-worker7": cluster x has no such node; see ListNode` {
		t.Errorf("unknown node: %v", err)
	}
	if err := p.AddNode(ctx, node); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("add: %v", err)
	}
	if err := p.RemoveNode(ctx, node); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("remove: %v", err)
	}
	source.err = errors.New("the engine crashed")
	if err := p.WaitForControlPlane(ctx, nil); !errors.Is(err, source.err) {
		t.Errorf("wait: %v", err)
	}
	if _, err := (&Provider{source: &fakeSource{err: source.err}}).Create(ctx); !errors.Is(err, source.err) {
		t.Errorf("create: %v", err)
	}
}

func TestCreateWithConfig(t *testing.T) {
	source := &fakeSource{}
	path := filepath.Join(t.TempDir(), "spec.yaml")
	for text, want := range map[string]string{
		"zones: [a, b]\nworkersPerZone: 2\n":                "",
		"kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4": "which has the fields of clusters.Spec",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := (&Provider{source: source, name: "x"}).CreateWithConfig(t.Context(), path)
		if (want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if source.spec.WorkersPerZone != 2 {
		t.Errorf("spec %+v", source.spec)
	}
	if _, err := (&Provider{source: source}).CreateWithConfig(t.Context(), path+"x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestListNode(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"holdfast-x-worker"},
			"status":{"addresses":[{"type":"Hostname","address":"x"},{"type":"InternalIP","address":"10.89.0.3"}]}}]}`)
	}))
	defer api.Close()
	p := &Provider{source: &fakeSource{host: api.URL}, name: "x"}
	if _, err := p.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := p.ListNode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, n := range got {
		lines = append(lines, fmt.Sprint(n.Name, " ", n.Role, " ", n.Cluster, " ", n.State, " ", n.IP))
	}
	want := []string{"holdfast-x-control-plane control-plane x running <nil>", "holdfast-x-worker worker x exited 10.89.0.3"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("ListNode (-want +got):\n%s", diff)
	}
}

func TestLoadImageArchive(t *testing.T) {
	source := &fakeSource{}
	p := &Provider{source: source, name: "x"}
	if _, err := p.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	source.did = nil
	dir := t.TempDir()
	path := filepath.Join(dir, "image.tar")
	ref, err := name.NewTag("holdfast.dev/backend:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(path, ref, empty.Image); err != nil {
		t.Fatal(err)
	}
	compressed := filepath.Join(dir, "image.tar.gz")
	if err := compress(path, compressed); err != nil {
		t.Fatal(err)
	}
	for _, archive := range []string{path, compressed} {
		if err := p.LoadImageArchive(t.Context(), archive); err != nil {
			t.Errorf("%s: %v", archive, err)
		}
	}
	if diff := cmp.Diff([]string{"load holdfast.dev/backend:1", "load holdfast.dev/backend:1"}, source.did); diff != "" {
		t.Errorf("did (-want +got):\n%s", diff)
	}
	junk := filepath.Join(dir, "junk")
	if err := os.WriteFile(junk, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{junk, filepath.Join(dir, "none")} {
		if err := p.LoadImageArchive(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "want a docker-archive") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func compress(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(file)
	_, err = packed.Write(content)
	return errors.Join(err, packed.Close(), file.Close())
}
