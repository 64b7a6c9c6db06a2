package nodeimage

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/kind/pkg/apis/config/defaults"
)

// Source is where an image came from.
type Source string

// The sources, in the order in which Ensure tries them.
const (
	Present Source = "present"
	Pulled  Source = "pulled"
	Built   Source = "built"
)

// Loaded is the source of an image that came from a file; Ensure never returns it.
const Loaded Source = "loaded"

// Network is what connects the pods of an image's nodes.
type Network string

// NetworkKindnet comes with kindest/node, NetworkAgent with a built image; see package nodeimage.
const (
	NetworkKindnet Network = "kindnet"
	NetworkAgent   Network = "agent"
)

// Ref is a node image that the engine holds.
type Ref struct {
	Image      string  `json:"image"`      // the reference, in the form that the engine and kind accept
	Kubernetes string  `json:"kubernetes"` // for example "v1.37.1"
	Source     Source  `json:"source"`
	Digest     string  `json:"digest"` // the engine's ID of the image: "sha256:..."
	Network    Network `json:"network"`
}

// Asker is the part of a container engine that answers questions.
type Asker interface {
	Name() string
	Output(ctx context.Context, args ...string) ([]byte, error)
}

// Engine is the part of a container engine that is used here.
type Engine interface {
	Asker
	Command(ctx context.Context, args ...string) *exec.Cmd
}

// Labels of a built image. Containers inherit the labels of their image.
const (
	labelKubernetes = "holdfast.dev/kubernetes"
	labelNetwork    = "holdfast.dev/network"
	labelRecipe     = "holdfast.dev/recipe"
)

// contactLimit is how long a registry may take before it lists an image's parts. An engine alone would try for a minute.
const contactLimit = 5 * time.Second

// errNoRegistry means that no registry answered, in contrast to a registry that does not have the image.
var errNoRegistry = errors.New("no registry answers")

// qualified adds the host of the default registry to a short name.
func qualified(image string) string {
	ref, err := name.ParseReference(image)
	if err != nil {
		return image
	}
	return ref.Name()
}

// kindDefault is the default image of this version of kind, by digest.
func kindDefault() string {
	named, sum, _ := strings.Cut(defaults.Image, "@") // podman rejects a reference with both a tag and a digest
	repository, _, _ := strings.Cut(named, ":")
	return qualified(repository + "@" + sum)
}

// pullImage fetches an image. It gives up early if no registry answers.
func pullImage(ctx context.Context, e Engine, image string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var contact atomic.Bool
	timer := time.AfterFunc(contactLimit, func() {
		if !contact.Load() {
			cancel(errNoRegistry)
		}
	})
	defer timer.Stop()

	cmd := e.Command(ctx, "pull", image)
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	said := make(chan string, 1)
	go func() { said <- listen(reader, &contact, cancel) }()
	err := cmd.Run()
	_ = writer.Close() // a pipe's writer never fails to close
	last := <-said
	switch {
	case err == nil:
		return nil
	case context.Cause(ctx) != nil:
		return fmt.Errorf("pull %s: %w", image, context.Cause(ctx))
	case refused(last):
		return fmt.Errorf("pull %s: %s", image, last)
	}
	return fmt.Errorf("pull %s: %w: %s", image, errNoRegistry, last)
}

// listen reads the engine's output during a pull and returns the last line. Output about the image's parts means that a
// registry answered. An announced retry before that means that none did, so listen cancels the pull.
func listen(r io.Reader, contact *atomic.Bool, cancel context.CancelCauseFunc) string {
	var last string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
			continue
		case strings.Contains(line, "Pulling from"), // docker
			strings.HasPrefix(line, "Getting image source"), strings.HasPrefix(line, "Copying "): // podman
			contact.Store(true)
		case strings.Contains(line, "retrying in") && !contact.Load():
			cancel(errNoRegistry)
		}
		last = line
	}
	_, _ = io.Copy(io.Discard, r) // a line beyond the scanner's limit must not block the engine
	return last
}

// refused tells a registry's refusal from an unreachable registry, by the messages of both engines and of the registry
// protocol.
func refused(line string) bool {
	return slices.ContainsFunc([]string{"manifest unknown", "not found", "name unknown", "denied", "unauthorized", "does not exist"}, func(word string) bool {
		return strings.Contains(strings.ToLower(line), word)
	})
}

// EngineImage is what an engine reports about an image: the output of "image inspect" that both engines have in common.
type EngineImage struct {
	ID      string `json:"Id"`
	Size    int64
	Created time.Time
	Config  struct {
		Labels map[string]string
	}
}

// inspectImage returns an image that the engine holds, with its source left empty.
func inspectImage(ctx context.Context, e Asker, image string) (Ref, error) {
	found, err := inspectImages(ctx, e, image)
	if err != nil {
		return Ref{}, err
	}
	return found[0].Ref(image), nil
}

// inspectImages returns images that the engine holds, in the order of their names.
func inspectImages(ctx context.Context, e Asker, names ...string) ([]EngineImage, error) {
	out, err := e.Output(ctx, append([]string{"image", "inspect"}, names...)...)
	if err != nil {
		return nil, err
	}
	var found []EngineImage
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("parse what %s reports about %s: %w", e.Name(), strings.Join(names, " "), err)
	}
	if len(found) != len(names) {
		return nil, fmt.Errorf("inspect %s: %s returned %d images", strings.Join(names, " "), e.Name(), len(found))
	}
	return found, nil
}

// Ref reads the labels of a built image. A stock image has no labels; its version comes from its tag, or is that of kind's
// default image.
func (i EngineImage) Ref(image string) Ref {
	ref := Ref{Image: image, Digest: i.ID, Kubernetes: i.Config.Labels[labelKubernetes], Network: NetworkKindnet}
	if !strings.HasPrefix(ref.Digest, "sha256:") {
		ref.Digest = "sha256:" + ref.Digest // podman omits the prefix
	}
	if network := i.Config.Labels[labelNetwork]; network != "" {
		ref.Network = Network(network)
	}
	ref.Kubernetes = cmp.Or(ref.Kubernetes, stockVersion(image))
	return ref
}

// stockVersion is the Kubernetes version in a kindest/node reference; empty if the reference does not contain it.
func stockVersion(image string) string {
	named, sum, byDigest := strings.Cut(image, "@")
	if kinds, kindsSum, _ := strings.Cut(defaults.Image, "@"); byDigest && sum == kindsSum {
		named = kinds
	}
	if at := strings.LastIndex(named, ":v"); at >= 0 {
		return named[at+1:]
	}
	return ""
}
