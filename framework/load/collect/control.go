package collect

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// serveControl serves the target of the control lane on the pod's own loopback, with the backend's answers. Failures on the way
// to it are the harness's own noise. It returns the URL, and the server ends with the context.
func serveControl(ctx context.Context, name string) (string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("serve control target: %w", err)
	}
	s := newServer(controlTarget(name))
	go func() { _ = s.Serve(l) }() // it returns when it is closed; if it returned earlier, requests of the lane would fail
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return "http://" + l.Addr().String() + "/", nil
}

func controlTarget(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := cmp.Or(r.Header.Get(backend.HeaderID), "-")
		h := w.Header()
		h.Set(backend.HeaderPod, name)
		h.Set("Content-Length", strconv.Itoa(len("ok \n")+len(id)))
		_, _ = io.WriteString(w, "ok "+id+"\n") // the client detects a failed write
	})
}

// newServer returns an HTTP server with limits on everything. Idle connections stay open for longer than any client keeps them,
// so the server never closes one first.
func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       40 * time.Second, // twice as long as a call may last
		WriteTimeout:      time.Minute,
		IdleTimeout:       10 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}
