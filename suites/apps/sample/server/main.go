// Server is holdfast's own sample backend as an application that says nothing of itself: what an ablation finds in it can be compared with
// the mutants of the sample backend.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-ha/holdfast/workloads/backend"
)

func main() {
	if err := serve(); err != nil {
		slog.Error("serve", "error", err)
		os.Exit(1)
	}
}

// serve serves until SIGTERM.
func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o, err := backend.Parse(os.Args[1:], os.Getenv)
	if err != nil {
		return err
	}
	return backend.Run(ctx, o)
}
