package session

import (
	"cmp"
	"errors"
	"io"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/run/intent"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
)

// Options say what is done, and how it is recorded.
type Options struct {
	// Access is the way to the cluster, with the user's rights.
	Access *existing.Access
	// Intent is what the user asks for.
	Intent intent.Intent
	// Image is the reference of an image of this version of holdfast, which the nodes have or can pull: for the healer, and for load workers.
	Image string
	// From is where the requests are sent from; empty: from inside of the cluster. Workers is how many load workers there are then; 0: 1.
	From    history.LoadFrom
	Workers int
	// Before, Recover and Settled are those of recording.Options.
	Before, Recover, Settled time.Duration
	// Out gets what the user's own commands print, and Say writes a line for the user.
	Out io.Writer
	Say func(format string, args ...any)
}

func (o *Options) fill() error {
	o.From = cmp.Or(o.From, history.LoadInside)
	o.Recover = cmp.Or(o.Recover, recording.DefaultRecover)
	switch {
	case o.Access == nil || o.Say == nil || o.Out == nil:
		return errors.New("disturb a cluster: the options are incomplete")
	case o.Image == "":
		return ErrNoImage
	}
	return recording.CheckProbes(o.Intent.Probes)
}

// ErrNoImage means that there is no image for the healer.
var ErrNoImage = errors.New("the healer, which undoes everything if this process cannot, needs an image of this holdfast that the nodes have or can pull: " +
	"'holdfast image self' writes it, and --holdfast-image names it")
