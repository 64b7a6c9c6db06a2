// Package linuxonly refuses to build an image on a system that cannot, and says what to do instead.
//
// It looks for no image.
package linuxonly

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage/registry"
)

// Balancer is the option of 'holdfast image save' for the load balancer.
const Balancer = "--balancer"

// Node is its option for the node image of a version of Kubernetes.
func Node(version string) string { return "--kubernetes " + version }

// Check returns an Error on a system, as runtime.GOOS names it, that cannot build images. saved is Balancer or Node, and pull is why no registry
// sent the image; nil: none was asked.
func Check(ctx context.Context, system string, e registry.Asker, saved string, pull error) error {
	if system == "linux" {
		return nil
	}
	arch, err := registry.Architecture(ctx, e)
	if err != nil {
		arch = runtime.GOARCH // usually that of the engine's virtual machine too
	}
	return &Error{System: system, Arch: arch, Saved: saved, Pull: pull}
}

// Error means that an image would have to be built, and this system cannot build it: that takes mount namespaces, and Debian's tools as
// root.
type Error struct {
	System string // this one, as runtime.GOOS names it
	Arch   string // for which the engine needs the image
	Saved  string // the options of 'holdfast image save' for the image
	Pull   error  // why no registry sent it; nil: none was asked
}

func (e *Error) Error() string { return e.Found() + ": " + e.Remedy() }

// Unwrap is why no registry sent the image.
func (e *Error) Unwrap() error { return e.Pull }

// Found is what is wrong, on one line.
func (e *Error) Found() string {
	text := "the image is built only on Linux, and this is " + e.System
	if e.Pull != nil {
		text += ", and no registry sent it: " + strings.ReplaceAll(e.Pull.Error(), "\n", "; ")
	}
	return text
}

// Remedy is what to do next.
func (e *Error) Remedy() string {
	return fmt.Sprintf("let the container engine reach a registry that has it, or run 'holdfast image load FILE' with a file that "+
		"'holdfast image save FILE %s' wrote on a Linux machine of the same architecture (linux/%s)", e.Saved, e.Arch)
}
