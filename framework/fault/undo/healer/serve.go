package healer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
)

// Command is the workload's name: `holdfast workload healer`.
const Command = "healer"

// The paths that a healer serves.
const (
	// HealthPath answers 200 if the healer has looked for notes within the last StaleAfter, and may undo them.
	HealthPath = "/healthz"
	// StopPath, asked with POST, undoes everything at once. The body is the reason. Whoever can reach the pod may ask: all that comes of it is that
	// the cluster is as it was.
	StopPath = "/stop"
)

// StaleAfter is how old the last look may be for a healer that is ready.
const StaleAfter = 15 * time.Second

// mostReason bounds the reason of a stop, in bytes.
const mostReason = 500

// mayFlag is the flag of a healer for the permissions that it needs, as a list in JSON.
const mayFlag = "may"

// Needing are the arguments of a healer that needs some permissions.
func Needing(permissions []existing.Permission) (args []string, err error) {
	text, err := json.Marshal(permissions)
	return []string{"--" + mayFlag + "=" + string(text)}, err
}

// Serve runs a healer in a pod, until ctx ends.
func Serve(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet(Command, pflag.ContinueOnError)
	listen := flags.String("listen", ":8080", "address of the health check, and of requests to stop")
	may := flags.String(mayFlag, "[]", "the permissions that the healer needs, as a list in JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var needs []existing.Permission
	if err := json.Unmarshal([]byte(*may), &needs); err != nil {
		return fmt.Errorf("--%s %s: %w", mayFlag, *may, err)
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the API server from inside of a pod: %w", err)
	}
	config.UserAgent = "holdfast-healer"
	config = undo.Limited(config, func(p existing.Permission) bool {
		return p.Group == "coordination.k8s.io" && p.Resource == "leases" && p.Namespace == hold.Namespace || p.Group == "authorization.k8s.io"
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("read the pod's name: %w", err)
	}
	o := Options{Name: name, Client: client, Dynamic: untyped, May: needs}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	return serve(ctx, o, listener)
}

// serve runs a healer and its HTTP server.
func serve(ctx context.Context, o Options, listener net.Listener) error {
	h := &front{options: o}
	o.Looked = h.looked
	server := &http.Server{Handler: h.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute}
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel() // the kubelet starts the container again
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
		close(failed)
	}()
	err := Run(ctx, o)
	return errors.Join(err, server.Close(), <-failed)
}

// front is what a healer serves.
type front struct {
	options Options

	mu   sync.Mutex
	last time.Time // of a look that was answered
	err  error
}

func (f *front) looked(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err = err; err == nil {
		f.last = time.Now()
	}
}

func (f *front) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+HealthPath, func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if since := time.Since(f.last); f.last.IsZero() || since > StaleAfter {
			http.Error(w, fmt.Sprintf("no look for notes has succeeded lately: %v", f.err), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("POST "+StopPath, func(w http.ResponseWriter, r *http.Request) {
		reason, err := io.ReadAll(io.LimitReader(r.Body, mostReason))
		if err == nil {
			err = hold.AskToStop(r.Context(), f.options.Client, string(reason))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "everything is being undone")
	})
	return mux
}
