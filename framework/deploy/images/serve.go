package images

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// MirrorCommand is the argument of `holdfast workload` for RunMirror.
const MirrorCommand = "mirror"

// MirrorPort is where the load node serves. It is neither a usual port of an application nor a node port.
const MirrorPort = 15055

// headerLimit is how long a client may take to send a request's header.
const headerLimit = 10 * time.Second

// RunMirror serves the images in a folder, its only argument, until ctx ends.
func RunMirror(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("serve images: want a folder with an OCI image layout")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(MirrorPort)))
	if err != nil {
		return fmt.Errorf("serve images: %w", err)
	}
	server := &http.Server{Handler: Handler(args[0]), ReadHeaderTimeout: headerLimit}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // a pull that is under way fails, and is repeated
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve images: %w", err)
	}
	return nil
}
