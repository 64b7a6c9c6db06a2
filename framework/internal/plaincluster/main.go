// Command plaincluster makes a cluster as others make it, for trying what holdfast does on clusters that it did not make: see package plain.
//
//	plaincluster up DIR       creates it, with holdfast's image on its nodes, for use as an application
//	plaincluster user DIR WHO creates a user who may do nothing, and prints the path of the kubeconfig
//	plaincluster down DIR     removes it
//
// The cluster has the name of the folder, three workers in the zones a, b and c, and an audit log.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/existing/plain"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "plaincluster:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and with it the signals
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) < 2 {
		return errors.New("want up DIR, user DIR NAME or down DIR")
	}
	e, err := engine.Find(ctx, engine.Options{Say: func(text string, a ...any) { _, _ = fmt.Fprintf(out, text+"\n", a...) }})
	if err != nil {
		return err
	}
	if err := errors.Join(e.Apply(), os.MkdirAll(args[1], 0o755)); err != nil {
		return err
	}
	dir, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	o := plain.Options{Name: filepath.Base(dir), Dir: dir, Zones: []string{"a", "b", "c"}, Audit: true, Kubernetes: os.Getenv("HOLDFAST_KUBERNETES")}
	switch {
	case args[0] == "up":
		return up(ctx, e, o, out)
	case args[0] == "down":
		c, err := plain.Open(e, o)
		return errors.Join(err, c.Delete(ctx))
	case args[0] == "user" && len(args) == 3:
		c, err := plain.Open(e, o)
		if err != nil {
			return err
		}
		path, err := c.User(ctx, args[2])
		_, _ = fmt.Fprintln(out, path)
		return err
	}
	return fmt.Errorf("unknown: %s", args)
}

func up(ctx context.Context, e *engine.Engine, o plain.Options, out io.Writer) error {
	c, err := plain.Create(ctx, e, o)
	if err != nil {
		return err
	}
	cache, err := engine.CacheDir()
	if err != nil {
		return err
	}
	executable, err := self.Path(ctx, cache)
	if err != nil {
		return err
	}
	ref, archive, err := image.Build(executable, filepath.Join(cache, "images"))
	if err != nil {
		return err
	}
	kubectl, err := c.Kubectl(ctx)
	_, _ = fmt.Fprintf(out, "export KUBECONFIG=%s\nkubectl: %s\nimage: %s\n", c.Kubeconfig(), kubectl, ref)
	return errors.Join(err, c.LoadImage(archive))
}
