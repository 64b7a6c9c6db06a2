package backend

import (
	"context"
	"errors"
	"fmt"
)

// Broken is how a bad version misbehaves. It never listens: if it counts as ready, requests to it are lost.
type Broken string

// The ways to be broken. They begin after the start delay.
const (
	// Crash exits with an error, so that Kubernetes restarts it with increasing back-off.
	Crash Broken = "crash"
	// Hang runs but never listens, like a server that waits for an unavailable database.
	Hang Broken = "hang"
)

func (b Broken) validate() error {
	if b != "" && b != Crash && b != Hang {
		return fmt.Errorf("broken %q: want %s or %s", b, Crash, Hang)
	}
	return nil
}

// run runs instead of serving.
func (b Broken) run(ctx context.Context) error {
	if b == Crash {
		return errors.New("backend: crash requested by --broken")
	}
	<-ctx.Done()
	return nil
}
