package kind

import (
	"errors"
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
