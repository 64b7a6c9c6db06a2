package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage/linuxonly"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage/registry"
)

func TestFirstRun(t *testing.T) {
	compile := nodeimage.Part{Name: "kubernetes", Took: 15 * time.Minute}
	small := nodeimage.Part{Name: "runc", Took: time.Minute}
	for name, test := range map[string]struct {
		f      nodeimage.Forecast
		err    error
		cores  int
		status Status
		found  string
		remedy bool
	}{
		"here": {
			f: nodeimage.Forecast{Kubernetes: "v1.37.1", Held: "localhost/holdfast/node:v1.37.1-abc"}, cores: 2, status: OK,
			found: "a cluster takes about a minute, as the node image of Kubernetes v1.37.1 is here (localhost/holdfast/node:v1.37.1-abc)",
		},
		"in a registry": {
			f: nodeimage.Forecast{Kubernetes: "v1.37.1", PullBytes: 412_345_678}, cores: 2, status: OK,
			found: "a cluster takes about a minute, after a pull of 412 MB: a registry has the node image of Kubernetes v1.37.1",
		},
		"to be built": {
			f: nodeimage.Forecast{Kubernetes: "v1.37.1", Missing: []nodeimage.Part{compile, small}, Pace: 1}, cores: 2, status: OK, remedy: true,
			found: "13 to 23 minutes, once, on 2 cores as fast as these are now: no registry sends the node image of Kubernetes v1.37.1, so it is built from kubernetes, runc, " +
				"with up to 8.0 GiB at /cache; then a cluster takes about a minute",
		},
		"in part": {
			f: nodeimage.Forecast{Kubernetes: "v1.37.1", Missing: []nodeimage.Part{compile}, Kept: []nodeimage.Part{small}, Pace: 0.5}, cores: 8, status: OK, remedy: true,
			found: "2 to 3 minutes, once, on 8 cores as fast as these are now: no registry sends the node image of Kubernetes v1.37.1, so it is built from kubernetes, " +
				"with up to 8.0 GiB at /cache; the cache has runc; then a cluster takes about a minute",
		},
		"only put together": {
			f: nodeimage.Forecast{Kubernetes: "v1.37.1", Kept: []nodeimage.Part{compile, small}}, cores: 2, status: OK, remedy: true,
			found: "1 to 2 minutes, once, on 2 cores: no registry sends the node image of Kubernetes v1.37.1, so it is built; the cache has kubernetes, runc; " +
				"then a cluster takes about a minute",
		},
		"not to be had": {
			f:     nodeimage.Forecast{Kubernetes: "v1.37.1", Missing: []nodeimage.Part{compile}, Blocked: errors.New("no mirror\nno apt-get")},
			cores: 2, status: Warn, remedy: true,
			found: "no registry sends the node image of Kubernetes v1.37.1, and it cannot be built here: no mirror; no apt-get",
		},
		"on a Mac": {
			f: nodeimage.Forecast{Kubernetes: "v1.37.1", Blocked: &linuxonly.Error{
				System: "darwin", Arch: "arm64", Saved: "--kubernetes v1.37.1", Pull: errors.New("no registry answers\nat all"),
			}},
			cores: 2, status: Fail, remedy: true,
			found: "no node image of Kubernetes v1.37.1: the image is built only on Linux, and this is darwin, and no registry sent it: no registry answers; at all",
		},
		"no answer": {err: errors.New("ask podman: no such file"), cores: 2, status: Warn, found: "unknown: ask podman: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			m, e := laptop(t)
			m.cores = test.cores
			m.foresee = func(_ context.Context, _ registry.Asker, version string, o nodeimage.Options) (nodeimage.Forecast, error) {
				if version != "v1.37.1" || o.CacheDir != "/cache/nodeimage" {
					t.Errorf("asked for %q in %s", version, o.CacheDir)
				}
				return test.f, test.err
			}
			got := m.firstRun(t.Context(), e, Options{CacheDir: "/cache", Kubernetes: "v1.37.1"})
			if got.Status != test.status || got.Found != test.found || strings.Contains(got.Remedy, "holdfast image load FILE") != test.remedy {
				t.Errorf("got %+v\nwant %s %s", got, test.status, test.found)
			}
		})
	}
}
