package nodeimage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
)

// Labels of a built image. Containers inherit the labels of their image.
const (
	LabelKubernetes = "holdfast.dev/kubernetes"
	LabelNetwork    = "holdfast.dev/network"
	LabelRecipe     = "holdfast.dev/recipe"
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

// pull fetches an image. It gives up early if no registry answers.
func pull(ctx context.Context, e images, image string) error {
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
	for _, word := range []string{"manifest unknown", "not found", "name unknown", "denied", "unauthorized", "does not exist"} {
		if strings.Contains(strings.ToLower(line), word) {
			return true
		}
	}
	return false
}

// inspected is the output of "image inspect" that both engines have in common.
type inspected struct {
	ID      string `json:"Id"`
	Size    int64
	Created time.Time
	Config  struct {
		Labels map[string]string
	}
}

// inspect returns an image that the engine holds, with its source left empty.
func inspect(ctx context.Context, e images, image string) (Ref, error) {
	found, err := inspectAll(ctx, e, image)
	if err != nil {
		return Ref{}, err
	}
	return found[0].ref(image), nil
}

func inspectAll(ctx context.Context, e images, names ...string) ([]inspected, error) {
	out, err := e.Output(ctx, append([]string{"image", "inspect"}, names...)...)
	if err != nil {
		return nil, err
	}
	var found []inspected
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("parse what %s reports about %s: %w", e.Name(), strings.Join(names, " "), err)
	}
	if len(found) != len(names) {
		return nil, fmt.Errorf("inspect %s: %s returned %d images", strings.Join(names, " "), e.Name(), len(found))
	}
	return found, nil
}

// ref reads the labels of a built image. A stock image has no labels; its version comes from its tag, or is that of kind's
// default image.
func (i inspected) ref(image string) Ref {
	ref := Ref{Image: image, Digest: i.ID, Kubernetes: i.Config.Labels[LabelKubernetes], Network: NetworkKindnet}
	if !strings.HasPrefix(ref.Digest, "sha256:") {
		ref.Digest = "sha256:" + ref.Digest // podman omits the prefix
	}
	if network := i.Config.Labels[LabelNetwork]; network != "" {
		ref.Network = Network(network)
	}
	if ref.Kubernetes == "" {
		ref.Kubernetes = stockVersion(image)
	}
	return ref
}
