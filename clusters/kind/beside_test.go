package kind

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
)

// What a run wants to know of the API server is asked while nodes join, at the address of the new cluster. Its error ends the start.
func TestTheAPIServerIsAskedWhileNodesJoin(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	path, err := kubeconfigPath("x")
	if err != nil {
		t.Fatal(err)
	}
	const kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: c}}]\n" +
		"clusters: [{name: c, cluster: {server: \"https://127.0.0.1:4711\"}}]\nusers: [{name: c, user: {token: t}}]\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(kubeconfig), 0o600)); err != nil {
		t.Fatal(err)
	}
	b := builder{e: newFakeEngine("podman"), name: "x"}
	if err := b.beside(t.Context(), scene()); err != nil {
		t.Errorf("nothing to ask: %v", err)
	}
	refused := errors.New("refused")
	ctx := clusters.WhenAnswering(t.Context(), func(_ context.Context, config *rest.Config) error {
		if config.Host != "https://127.0.0.1:4711" {
			t.Errorf("asked %s", config.Host)
		}
		return refused
	})
	if err := b.beside(ctx, scene()); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}
