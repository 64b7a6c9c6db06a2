package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// serveControl runs the target of the control lane: a server on the pod's own loopback, which answers as the backend
// does. What goes wrong on the way to it is the harness's own noise. It returns the URL, and ends with the context.
func serveControl(ctx context.Context, name string) (string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("serve control target: %w", err)
	}
	s := newServer(controlTarget(name))
	go func() { _ = s.Serve(l) }() // it ends when it is closed; if it ended earlier, the lane would say so
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return "http://" + l.Addr().String() + "/", nil
}

func controlTarget(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerID)
		if id == "" {
			id = "-"
		}
		h := w.Header()
		h.Set(headerPod, name)
		h.Set("Content-Length", strconv.Itoa(len("ok \n")+len(id)))
		_, _ = io.WriteString(w, "ok "+id+"\n") // the client notices
	})
}

// newServer is an HTTP server with a limit on everything. Idle connections stay open for longer than any client keeps
// them, so that it is never the server that ends one.
func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       10 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}
