package backend

import (
	"context"
	"errors"
	"fmt"
)

// Broken is what a version does that nobody should have released. It never answers: who takes it for ready sends requests
// to nobody.
type Broken string

// The ways to be broken, once the start delay has passed.
const (
	// Crash exits with an error, so that Kubernetes starts it again and again, ever later.
	Crash Broken = "crash"
	// Hang runs and never listens, like a server that waits for a database that is not there.
	Hang Broken = "hang"
)

func (b Broken) validate() error {
	if b != "" && b != Crash && b != Hang {
		return fmt.Errorf("broken %q: want %s or %s", b, Crash, Hang)
	}
	return nil
}

// run is what a broken server does instead of serving.
func (b Broken) run(ctx context.Context) error {
	if b == Crash {
		return errors.New("backend: crashes, as it was told to")
	}
	<-ctx.Done()
	return nil
}
