package nodeimage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Held is a node image that an engine holds.
type Held struct {
	Ref
	SizeBytes int64     `json:"sizeBytes"` // shared layers count for each image
	Created   time.Time `json:"created"`
	// Current is true for a kindest/node image, and for an image that the current recipe built: Ensure would use it.
	Current bool `json:"current"`
	// Balancer is set only for the image of the load balancer for several control planes: see Balancer.Program.
	Balancer string `json:"balancer,omitempty"`
}

// List returns the node images that the engine holds, built and pulled, and the load balancer's image, sorted by reference.
func List(ctx context.Context, e Engine) ([]Held, error) {
	out, err := e.Output(ctx, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
	if err != nil {
		return nil, fmt.Errorf("list node images: %w", err)
	}
	var names []string
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		repository, tag := cutTag(name)
		if tag != "<none>" && (repository == builtRepository || strings.HasSuffix("/"+repository, "/kindest/node") || isBalancer(name)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	found, err := inspectImages(ctx, e, names...)
	if err != nil {
		return nil, fmt.Errorf("list node images: %w", err)
	}
	held := make([]Held, len(found))
	for i, image := range found {
		ref := image.Ref(names[i])
		ref.Source = Present
		held[i] = Held{Ref: ref, SizeBytes: image.Size, Created: image.Created}
		if isBalancer(names[i]) {
			balancer, current := describeBalancer(image)
			held[i].Network, held[i].Kubernetes, held[i].Balancer, held[i].Current = "", "", balancer.Program, current
			continue
		}
		held[i].Current = ref.Network == NetworkKindnet || names[i] == builtName(ref.Kubernetes)
	}
	return held, nil
}

// cutTag splits a reference at its tag; a colon before a slash belongs to a port.
func cutTag(image string) (repository, tag string) {
	at := strings.LastIndex(image, ":")
	if at < 0 || strings.Contains(image[at:], "/") {
		return image, ""
	}
	return image[:at], image[at+1:]
}

// Remove removes a node image from the engine. An image that a container uses is kept, and Remove returns an error.
func Remove(ctx context.Context, e Engine, image string) error {
	if _, err := e.Output(ctx, "image", "rm", image); err != nil {
		return fmt.Errorf("remove %s: %w", image, err)
	}
	return nil
}
