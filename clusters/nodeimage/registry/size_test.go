package registry

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// A registry that serves one image for two architectures sends one of them.
func TestPullBytes(t *testing.T) {
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	ref, err := name.ParseReference(host + "/kindest/node:v1.37.0")
	if err != nil {
		t.Fatal(err)
	}
	index, want := v1.ImageIndex(empty.Index), map[string]int64{}
	for arch, size := range map[string]int64{"amd64": 100_000, "arm64": 300_000} {
		image, err := random.Image(size, 2)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := image.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		want[arch] = manifest.Config.Size + manifest.Layers[0].Size + manifest.Layers[1].Size
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	for arch, size := range want {
		if got, err := PullBytes(t.Context(), ref.String(), arch); err != nil || got != size {
			t.Errorf("%s: %d bytes, %v; want %d", arch, got, err, size)
		}
	}
	for name, test := range map[string]struct{ image, arch, want string }{
		"no such version":      {host + "/kindest/node:v1.99.0", "amd64", "MANIFEST_UNKNOWN"},
		"no such architecture": {ref.String(), "riscv64", "no child with platform linux/riscv64"},
		"no name":              {"kindest/Node", "amd64", "could not parse reference"},
	} {
		if got, err := PullBytes(t.Context(), test.image, test.arch); err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, ErrNoRegistry) {
			t.Errorf("%s: %d, %v; want %s", name, got, err, test.want)
		}
	}
}

func TestPullBytesWithoutARegistry(t *testing.T) {
	server := httptest.NewServer(registry.New())
	server.Close()
	if _, err := PullBytes(t.Context(), strings.TrimPrefix(server.URL, "http://")+"/kindest/node:v1", "amd64"); !errors.Is(err, ErrNoRegistry) {
		t.Errorf("got %v", err)
	}
}

// A registry that takes the connection and says nothing is given up with the context.
func TestPullBytesOfASilentRegistry(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	ctx, end := context.WithCancelCause(t.Context())
	stop := errors.New("Ctrl-C")
	go func() {
		if conn, err := listener.Accept(); err == nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
		end(stop)
	}()
	if _, err := PullBytes(ctx, listener.Addr().String()+"/kindest/node:v1", "amd64"); !errors.Is(err, context.Canceled) && !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}
