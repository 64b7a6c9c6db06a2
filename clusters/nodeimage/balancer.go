package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/holdfast-ha/holdfast/clusters/balancer"
	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// BalancerImage is the image that kind starts in front of several control planes. The name is internal to kind; a test
// compares the two.
const BalancerImage = "docker.io/envoyproxy/envoy:v1.36.2"

// LabelBalancer marks the image that replaces kind's; its value is the program that balances.
const LabelBalancer = "holdfast.dev/balancer"

// The programs that balance: kind's own, and the replacement's, which is also the value of LabelBalancer.
const (
	Envoy   = "envoy"
	HAProxy = "haproxy"
)

// Balancer is a load balancer image that the engine holds under kind's name for it.
type Balancer struct {
	Image  string `json:"image"`
	Source Source `json:"source"`
	Digest string `json:"digest"` // the engine's ID of the image: "sha256:..."
	// Program is Envoy for kind's own image and HAProxy for the replacement.
	Program string `json:"program"`
}

// balancerPackages are added to mmdebstrap's minbase, which contains the shell that kind's command needs.
var balancerPackages = []string{"haproxy"}

// envoyScript is installed in the replacement under Envoy's name, because kind's command starts Envoy.
const envoyScript = "#!/bin/sh\nexec /usr/local/bin/holdfast " + balancer.Command + " --verbose \"$@\"\n"

// EnsureBalancer makes sure that the engine holds the image that kind starts in front of several control planes: the one
// that the engine has, otherwise kind's own from a registry, otherwise a replacement that is built here and stored in this
// engine alone, under the name of kind's image. A replacement that another recipe built counts as missing. On another system than
// Linux there is no replacement, and the error says what to do.
//
// Why a replacement image, and not control planes that join without a load balancer: kind always starts a load balancer for
// several control planes, and with the replacement kind's cluster creation, kubeconfigs and cluster deletion work unchanged. Why
// HAProxy: every distribution packages it, and kubeadm's own guide to high availability names it. kind writes configuration
// for Envoy; holdfast, which the replacement starts under Envoy's name, converts it to a HAProxy configuration (see package
// balancer) with kind's own numbers: GET /healthz over TLS every 2 s with a time-out of 3 s, down after two failures
// and up after one success, and connections to a control plane time out after 250 ms and are not retried. A HAProxy health
// check that cannot connect gives up after 2 s, so a dead control plane is noticed within 8 s (seen: 7 s). Envoy's check
// waits for 3 s, so Envoy needs up to 10 s. Until then new connections that are routed to the dead control plane fail.
// `holdfast image list` shows which program a cluster uses.
//
// Source: https://github.com/kubernetes/kubeadm/blob/main/docs/ha-considerations.md
func EnsureBalancer(ctx context.Context, e *engine.Engine, o Options) (Balancer, error) {
	if err := o.fill(); err != nil {
		return Balancer{}, err
	}
	found, err := ensureBalancer(ctx, thisHost(), e, o)
	if err != nil {
		return Balancer{}, fmt.Errorf("get the load balancer for several control planes (%s): %w", BalancerImage, err)
	}
	return found, nil
}

func ensureBalancer(ctx context.Context, h host, e Engine, o Options) (Balancer, error) {
	held, current, err := heldBalancer(ctx, e)
	if err == nil && current || ctx.Err() != nil {
		return held, err
	}
	unsent := pullImage(ctx, e, BalancerImage)
	if unsent == nil {
		pulled, _, err := heldBalancer(ctx, e)
		pulled.Source = Pulled
		return pulled, err
	}
	if ctx.Err() != nil {
		return Balancer{}, context.Cause(ctx)
	}
	if err := h.checkBuilds(ctx, e, "--balancer", unsent); err != nil {
		return Balancer{}, err
	}
	if err := buildBalancer(ctx, h, e, o); err != nil {
		return Balancer{}, err
	}
	built, _, err := heldBalancer(ctx, e)
	if err == nil && held.Digest != "" && held.Digest != built.Digest {
		_, _ = e.Output(ctx, "image", "rm", held.Digest) // the old image is untagged now; if a cluster uses it, the engine keeps it
	}
	built.Source = Built
	return built, err
}

// heldBalancer is the image that the engine holds, and whether EnsureBalancer would use it: kind's own always, the
// replacement if this recipe built it.
func heldBalancer(ctx context.Context, e Engine) (held Balancer, current bool, err error) {
	found, err := inspectImages(ctx, e, BalancerImage)
	if err != nil {
		return Balancer{}, false, err
	}
	held, current = describeBalancer(found[0])
	return held, current, nil
}

func describeBalancer(i EngineImage) (held Balancer, current bool) {
	held = Balancer{Image: BalancerImage, Source: Present, Digest: i.Ref(BalancerImage).Digest, Program: Envoy}
	program, ours := i.Config.Labels[LabelBalancer]
	if !ours {
		return held, true
	}
	held.Program = program
	return held, i.Config.Labels[labelRecipe] == balancerKey()
}

// isBalancer reports whether an engine's name for an image is that of the balancer; Docker omits the host.
func isBalancer(image string) bool {
	return strings.TrimPrefix(image, "docker.io/") == strings.TrimPrefix(BalancerImage, "docker.io/")
}

// balancerKey is the same for two balancers if and only if they were made from the same inputs in the same way; see
// recipeKey.
func balancerKey() string {
	return digest(slices.Concat(contents(balancer.Source), balancerPackages,
		[]string{fmt.Sprint(revision), runtime.GOARCH, debianSuite, BalancerImage, envoyScript, rootfsScript})...)
}

// balancerSteps is the number of steps that a build of the balancer reports.
const balancerSteps = 2

func buildBalancer(ctx context.Context, h host, e Engine, o Options) (err error) {
	holdfast, err := h.holdfast(ctx, o.CacheDir)
	if err != nil {
		return err
	}
	b, work, end, err := h.begin(ctx, o, balancerSteps)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	b.holdfast = holdfast
	var rootfs string
	err = b.steps.do(ctx, "root file system with HAProxy ("+debianSuite+")", func(ctx context.Context) (cached bool, err error) {
		rootfs, cached, err = b.bootstrap(ctx, "rootfs-balancer", balancerPackages, "")
		return cached, err
	})
	if err != nil {
		return err
	}
	return b.steps.do(ctx, "put the load balancer together and bring it into "+e.Name(), func(ctx context.Context) (bool, error) {
		return false, b.assembleBalancer(ctx, e, rootfs, work)
	})
}

// assembleBalancer loads the image into the engine, which tags the image only when it has all of it.
func (b *builder) assembleBalancer(ctx context.Context, e Engine, rootfs, work string) error {
	upper := Tree{}
	upper.Program("usr/local/bin/holdfast", b.holdfast)
	upper.Add("usr/local/bin/envoy", envoyScript)
	upper.Executable("usr/local/bin")
	upper.Folder("home/envoy")
	file := filepath.Join(work, "balancer.tar")
	if err := upper.WriteFile(file); err != nil {
		return err
	}
	config := v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Created: v1.Time{Time: time.Now().UTC()}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Env:    []string{searchPath},
			Labels: map[string]string{LabelBalancer: HAProxy, labelRecipe: balancerKey()},
		},
	}
	return loadLayers(ctx, e, BalancerImage, config, []string{filepath.Join(rootfs, rootfsTar), file})
}
