package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// Source says how an image was had.
type Source string

// The sources, in the order in which Ensure tries them.
const (
	Present Source = "present"
	Pulled  Source = "pulled"
	Built   Source = "built"
)

// Network says what carries pods between the nodes of an image.
type Network string

// NetworkKindnet is what kindest/node brings, NetworkAgent what a built image does; see the package comment.
const (
	NetworkKindnet Network = "kindnet"
	NetworkAgent   Network = "agent"
)

// Ref is a node image that the engine holds.
type Ref struct {
	Image      string  `json:"image"`      // the reference, as the engine and kind take it
	Kubernetes string  `json:"kubernetes"` // for example "v1.37.1"
	Source     Source  `json:"source"`
	Digest     string  `json:"digest"` // the engine's ID of the image: "sha256:..."
	Network    Network `json:"network"`
}

// Options of Ensure and Build. The zero value is the default.
type Options struct {
	// CacheDir is where what was built is kept; default: nodeimage in engine.CacheDir().
	CacheDir string
	// NoInstall refuses to install what a build needs (debootstrap, a C compiler) and says what is missing; so does
	// HOLDFAST_NO_INSTALL=1.
	NoInstall bool
	// Progress hears of every step of a build, from several goroutines but one call at a time. See Lines.
	Progress func(Step)
}

func (o *Options) fill() error {
	if o.CacheDir == "" {
		dir, err := engine.CacheDir()
		if err != nil {
			return err
		}
		o.CacheDir = filepath.Join(dir, "nodeimage")
	}
	if set := os.Getenv("HOLDFAST_NO_INSTALL"); set != "" && set != "0" {
		o.NoInstall = true
	}
	if o.Progress == nil {
		o.Progress = func(Step) {}
	}
	return nil
}

// images is the part of an engine that is used here.
type images interface {
	Name() string
	Command(ctx context.Context, args ...string) *exec.Cmd
	Output(ctx context.Context, args ...string) ([]byte, error)
}

// Ensure returns an image for a version of Kubernetes, "" meaning the newest that builds: one that the engine holds,
// else kindest/node from a registry, else one that it builds. Where no registry answers, that is noticed within
// seconds. Where a registry has no image of the newest version, an empty version means kind's own default.
//
// A second call takes about as long as the engine needs to look the image up.
func Ensure(ctx context.Context, e *engine.Engine, version string, o Options) (Ref, error) {
	if err := o.fill(); err != nil {
		return Ref{}, err
	}
	return ensure(ctx, e, version, func(ctx context.Context, version string) (Ref, error) {
		return Build(ctx, e, version, o)
	})
}

func ensure(ctx context.Context, e images, version string, build func(context.Context, string) (Ref, error)) (Ref, error) {
	wanted := version
	if wanted == "" {
		wanted = DefaultKubernetes
	}
	if err := checkForm(wanted); err != nil {
		return Ref{}, err
	}
	known := []string{builtName(wanted), stockName(wanted)}
	stock := known[1:2]
	if version == "" {
		known, stock = append(known, kindDefault()), append(stock, kindDefault())
	}
	for _, name := range known {
		if ref, err := inspect(ctx, e, name); err == nil {
			ref.Source = Present
			return ref, nil
		} else if ctx.Err() != nil {
			return Ref{}, err
		}
	}
	for _, name := range stock {
		err := pull(ctx, e, name)
		if err == nil {
			ref, err := inspect(ctx, e, name)
			ref.Source = Pulled
			return ref, err
		}
		if ctx.Err() != nil {
			return Ref{}, err
		}
		if errors.Is(err, errNoRegistry) {
			break // it would be no different for another image
		}
	}
	return build(ctx, wanted)
}

// builtRepository is where images of ours are named. Podman puts localhost before a name without a host, Docker leaves
// it as it is; with it, both mean the same.
const builtRepository = "localhost/holdfast/node"

// builtName is the name of the image that this recipe makes.
func builtName(version string) string {
	return builtRepository + ":" + version + "-" + recipeKey(version)
}

// stockName is kindest/node, with the host of the default registry: podman takes no short names unless it is told so.
func stockName(version string) string { return qualified("kindest/node:" + version) }

// kindDefault is the image that this version of kind would take by itself, by its digest.
func kindDefault() string {
	named, sum, _ := strings.Cut(defaults.Image, "@") // podman refuses a tag and a digest together
	repository, _, _ := strings.Cut(named, ":")
	return qualified(repository + "@" + sum)
}

// checkForm refuses what cannot be a version before anything slow is done.
func checkForm(version string) error {
	if !versionForm.MatchString(version) {
		return fmt.Errorf("kubernetes version %q: want the form %s", version, DefaultKubernetes)
	}
	return nil
}
