package images

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Options say where images may come from.
type Options struct {
	// Given are archives and references that the user names. The path of an archive is absolute, or begins with a dot.
	Given []string
	// Engine is the local container engine; nil: there is none.
	Engine Engine
	// Pull allows this machine to pull what is neither given nor in the local engine.
	Pull bool
	// Say is told what takes long.
	Say func(string)
}

// Gather copies the images that an application refers to, and all that are given, into an OCI image layout in an empty folder. The error
// names each image that a pod needs and that is nowhere. The notes are about texts that may or may not name an image that is nowhere.
func Gather(ctx context.Context, references []app.Reference, o Options, folder string) (notes []string, err error) {
	s, err := newStore(folder)
	if err != nil {
		return nil, fmt.Errorf("gather images: %w", err)
	}
	g := gatherer{store: s, Options: o, away: map[string]error{}}
	if g.local, err = listLocal(ctx, o.Engine); err != nil {
		return nil, err
	}
	for _, given := range o.Given {
		if err := g.give(ctx, given); err != nil {
			return nil, err
		}
	}
	var missing []error
	for _, w := range wants(references) {
		err := g.find(ctx, w)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
		case w.use == app.InPod:
			missing = append(missing, fmt.Errorf("%s: %w", w, err))
		case w.use == app.Named:
			notes = append(notes, fmt.Sprintf("%s: if this is an image, no node can get it: %v", w, err))
		}
	}
	if len(missing) > 0 {
		return notes, fmt.Errorf("pods need images that are nowhere:\n%w", errors.Join(missing...))
	}
	return notes, nil
}

type gatherer struct {
	*store
	Options
	local local
	away  map[string]error // registries that did not answer: to wait for them again would show nothing
}

// want is an image, and everything that refers to it.
type want struct {
	image string
	use   app.Use // the most certain one
	where []string
}

// String names the image and the fields that want it.
func (w want) String() string { return w.image + ", wanted by " + strings.Join(w.where, " and ") }

// wants are the images of references, the most certain first.
func wants(references []app.Reference) (all []want) {
	for _, r := range references {
		i := slices.IndexFunc(all, func(w want) bool { return w.image == r.Image })
		if i < 0 {
			i = len(all)
			all = append(all, want{image: r.Image})
		}
		all[i].use = max(all[i].use, r.Use)
		all[i].where = append(all[i].where, r.Where)
	}
	slices.SortStableFunc(all, func(x, y want) int { return int(y.use - x.use) })
	return all
}

// give adds an archive or a reference that the user named.
func (g *gatherer) give(ctx context.Context, given string) error {
	if isPath(given) {
		return g.unpack(given, nil)
	}
	if err := g.find(ctx, want{image: given, use: app.InPod}); err != nil {
		return fmt.Errorf("image %s, which was asked for: %w", given, err)
	}
	return nil
}

// find looks for an image in what is there, then in the local engine, then in its registry.
func (g *gatherer) find(ctx context.Context, w want) error {
	n, err := ParseName(w.image)
	if err != nil {
		return err
	}
	there, other := g.lookup(n)
	if named, saved := g.local.find(ctx, n); there == nil && saved {
		g.Say("save " + named + " from " + g.local.engine.Name())
		if err := g.save(ctx, g.local, named, n); err != nil {
			return err
		}
		there, other = g.lookup(n)
	}
	if there != nil {
		return g.serve(n, there.image)
	}
	switch {
	case w.use == app.Possible: // a text such as redis:6379 is told to nobody
		return errors.New("it is not there")
	case !g.Pull:
		return fmt.Errorf("%sit is in no archive that was given and not in the local engine, and pulling is off: "+
			"name an archive with --image, or allow pulling", other)
	}
	if err := g.pullOnce(ctx, n); err != nil {
		return fmt.Errorf("%sit is in no archive that was given and not in the local engine, and pulling it failed: %w: "+
			"save it with 'docker save', and name the file with --image", other, err)
	}
	return nil
}

// pullOnce pulls an image, unless its registry did not answer before.
func (g *gatherer) pullOnce(ctx context.Context, n Name) error {
	if err := g.away[n.Host]; err != nil {
		return err
	}
	g.Say("pull " + n.String())
	err := g.pull(ctx, n)
	if errors.Is(err, errAway) {
		g.away[n.Host] = err
	}
	return err
}

// lookup finds an image in the store; nil: it is not there. Then it says which digest of the same image is there.
func (g *gatherer) lookup(n Name) (there *held, other string) {
	for _, alias := range aliases(n) {
		for i, h := range g.held {
			if n.Digest == "" && h.name == alias || n.Digest != "" && h.has(n.Digest) {
				return &g.held[i], ""
			}
			if n.Digest != "" && h.name.Host == alias.Host && h.name.Repository == alias.Repository {
				other = h.instead()
			}
		}
	}
	return nil, other
}

// has reports whether a digest is that of the image, or of its part for this machine's platform.
func (h held) has(digest string) bool {
	return slices.ContainsFunc(h.digests, func(own v1.Hash) bool { return own.String() == digest })
}

// instead says what is there in place of another digest of the image.
func (h held) instead() string {
	why := ""
	if h.repacked {
		why = " (this format of archives keeps no digests: Docker before 29 and 'podman save' pack an image anew)"
	}
	return fmt.Sprintf("%s from %s has digest %s%s; ", h.name, h.from, h.image.Digest, why)
}
