package kind

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// archive is a file to load. The fake engine does not read its content.
func archive(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, []byte("layers"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadImageOnlyWhereItIsNot(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	var mu sync.Mutex
	holds := map[string]bool{"holdfast-x-worker": true}
	e.Exec = func(node string, command []string) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		was := holds[node]
		holds[node] = true // the next query follows an import
		if was {
			return []byte("holdfast.dev/backend:1\n"), nil
		}
		return nil, nil
	}
	if err := c.LoadImage(t.Context(), clusters.Image{Ref: "holdfast.dev/backend:1", Path: archive(t)}); err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]int{"holdfast-x-worker": 0, "holdfast-x-worker2": 1, "holdfast-x-control-plane": 1} {
		if got := len(e.Called("--interactive " + node + " ctr")); got != want {
			t.Errorf("%s was sent the image %d times, want %d", node, got, want)
		}
	}
}

// A node whose kubelet reports the image is not asked. What is reported of another image, or by a node that does not exist, means nothing.
func TestLoadImageBelievesKubelets(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	for name, image := range map[string]string{"holdfast-x-worker": "holdfast.dev/backend:1", "holdfast-x-worker2": "holdfast.dev/backend:2", "other": "holdfast.dev/backend:1"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"a", image}}}}}
		if _, err := c.client.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	asked := map[string]bool{}
	e.Exec = func(node string, command []string) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[node] = true
		return []byte("holdfast.dev/backend:1\n"), nil
	}
	if err := c.LoadImage(t.Context(), clusters.Image{Ref: "holdfast.dev/backend:1", Path: archive(t)}); err != nil {
		t.Fatal(err)
	}
	if asked["holdfast-x-worker"] || !asked["holdfast-x-worker2"] || !asked["holdfast-x-control-plane"] {
		t.Errorf("asked %v", asked)
	}
}

// TestLoadImageAsksANodeOnce: every scenario of a run loads the same image. A node is asked again only for another image, or
// after the import failed.
func TestLoadImageAsksANodeOnce(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	var mu sync.Mutex
	asked := map[string]int{}
	lists, broken := "holdfast.dev/backend:1\n", "holdfast-x-worker2"
	e.Exec = func(node string, command []string) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[node]++
		if node == broken {
			return nil, errors.New("the engine is busy")
		}
		return []byte(lists), nil
	}
	load := func(ref string) error {
		clear(asked)
		return c.LoadImage(t.Context(), clusters.Image{Ref: ref, Path: archive(t)})
	}
	one := map[string]int{"holdfast-x-worker": 1, "holdfast-x-worker2": 1, "holdfast-x-control-plane": 1}
	for _, step := range []struct {
		what, ref string
		before    func()
		fails     bool
		want      map[string]int // number of queries per node
	}{
		{"a node that does not answer", "holdfast.dev/backend:1", func() {}, true, nil},
		{"which does again", "holdfast.dev/backend:1", func() { broken = "" }, false, nil},
		{"the same image", "holdfast.dev/backend:1", func() {}, false, map[string]int{}},
		{"another image", "holdfast.dev/backend:2", func() { lists = "holdfast.dev/backend:2\n" }, false, one},
	} {
		step.before()
		if err := load(step.ref); (err != nil) != step.fails {
			t.Fatalf("%s: %v", step.what, err)
		}
		if step.want != nil && !maps.Equal(asked, step.want) {
			t.Errorf("%s: asked %v, want %v", step.what, asked, step.want)
		}
		if step.what == "which does again" && asked["holdfast-x-worker2"] != 1 {
			t.Errorf("%s: the node was asked %d times, want once", step.what, asked["holdfast-x-worker2"])
		}
	}
}

// TestLoadImageOfARole: an image with a role is not imported on nodes of other roles.
func TestLoadImageOfARole(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	looked := map[string]int{}
	var mu sync.Mutex
	e.Exec = func(node string, command []string) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		looked[node]++
		if looked[node] > 1 {
			return []byte("holdfast.dev/backend:1\n"), nil
		}
		return nil, nil
	}
	image := clusters.Image{Ref: "holdfast.dev/backend:1", Path: archive(t), Role: clusters.ControlPlane}
	if err := c.LoadImage(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	if len(looked) != 1 || len(e.Called("--interactive holdfast-x-control-plane ctr")) != 1 {
		t.Errorf("asked %v, want the control plane alone, and that it is sent the image", looked)
	}
}

func TestLoadImageErrors(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	e.Exec = func(string, []string) ([]byte, error) { return nil, nil } // containerd never lists the image
	path := archive(t)
	err := c.LoadImage(t.Context(), clusters.Image{Ref: "holdfast.dev/backend:1", Path: path})
	if err == nil || !strings.Contains(err.Error(), path+" holds no image of that name; its manifest's RepoTags must list it") {
		t.Errorf("an archive of another image: %v", err)
	}
	err = c.LoadImage(t.Context(), clusters.Image{Ref: "x", Path: filepath.Join(t.TempDir(), "none.tar")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no archive: %v", err)
	}
	e.Exec = func(string, []string) ([]byte, error) { return nil, errors.New("the engine died") }
	err = c.LoadImage(t.Context(), clusters.Image{Ref: "x", Path: path})
	if err == nil || !strings.HasPrefix(err.Error(), "load image x: list the images of holdfast-x-") {
		t.Errorf("the engine died: %v", err)
	}
}

func TestFullName(t *testing.T) {
	for ref, want := range map[string]string{
		"nginx":                  "docker.io/library/nginx:latest",
		"holdfast/backend:1":     "docker.io/holdfast/backend:1",
		"holdfast.dev/backend:1": "holdfast.dev/backend:1",
		"localhost/x:2":          "localhost/x:2",
		"localhost:5000/x":       "localhost:5000/x:latest",
	} {
		if got, err := fullName(ref); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", ref, got, err, want)
		}
	}
	if _, err := fullName("Not A Name"); err == nil {
		t.Error("an invalid image name was accepted")
	}
}

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		text  string
		count int
		want  string
	}{
		{"a\n\nb\nc\n", 2, "b | c"},
		{"a", 2, "a"},
		{"", 2, ""},
	} {
		if got := tail(tt.text, tt.count); got != tt.want {
			t.Errorf("tail(%q, %d) = %q, want %q", tt.text, tt.count, got, tt.want)
		}
	}
}
