package undo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// UndoLimit bounds the undo of one change. What is not undone then is undone by another process.
const UndoLimit = 2 * time.Minute

// lateWrite is how long after its answer was lost a change may still arrive. The API server aborts most such requests at once, and the others end
// within milliseconds.
const lateWrite = 2 * time.Second

// Outcome is what became of a change.
type Outcome struct {
	Object
	Note
	// Left is why the field stays as it is: another client has changed it since. Empty: it is as it was.
	Left string
}

func (o Outcome) String() string {
	if o.Left != "" {
		return fmt.Sprintf("left as it is: %s of %s: %s", o.Field, o.Object, o.Left)
	}
	if o.Field == Command {
		return fmt.Sprintf("undone: %s was taken away by a command", o.Object)
	}
	return fmt.Sprintf("undone: %s of %s holds %s again", o.Field, o.Object, words(o.before))
}

// Undo undoes every change, the newest first, and returns those that were left. An undo that fails does not stop the others, and is tried again for
// UndoLimit; what this call could not undo, a later one tries again.
func (c *Changes) Undo(ctx context.Context) (left []Outcome, err error) {
	var errs []error
	for _, s := range slices.Backward(slices.Clone(c.made)) {
		out, err := c.undo(ctx, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("undo the change of %s: %w", s.Object, err))
			continue
		}
		c.forget(s.Object)
		if out != nil && out.Left != "" {
			left = append(left, *out)
		}
	}
	return left, errors.Join(errs...)
}

func (c *Changes) undo(ctx context.Context, s sent) (out *Outcome, err error) {
	mine := func(n Note) bool { return n.Run == c.Run && n.Token == c.Hold.Token() }
	var lasting error
	err = poll.Until(ctx, fmt.Sprintf("%s to be as it was", s.Object), UndoLimit, func(ctx context.Context) (bool, string, error) {
		out, err = putBack(ctx, c.Dynamic, s.Object, mine)
		switch {
		case stays(err):
			lasting = err
			return true, "", nil
		case err != nil:
			return false, "", err
		case out == nil && !s.lost.IsZero() && time.Since(s.lost) < lateWrite:
			return false, "it is not known yet whether the change was made", nil
		}
		return true, "", nil
	})
	return out, errors.Join(lasting, err)
}

// stays reports whether trying again is of no use.
func stays(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || errors.Is(err, errNoNote)
}

// putBack puts the field of an object back and removes the note, in one request. nil: the object has no such note, and nothing was to be undone. Only a field
// that still holds what the change has set is put back; of any other, the note alone goes.
func putBack(ctx context.Context, client dynamic.Interface, o Object, mine func(Note) bool) (*Outcome, error) {
	var failed error
	for range attempts {
		read, err := o.get(ctx, client)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		note, err := noteOf(o.Resource, read)
		switch {
		case errors.Is(err, errNotThere):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("annotation %s of %s: %w: look at it, and remove it with 'kubectl annotate'", Annotation, o, err)
		case !mine(note):
			return nil, nil
		}
		out, ops := note.reverse(o, read)
		stored, err := o.patch(ctx, client, undoer, read, append(ops, operation{"remove", notePointer, nil})...)
		if err == nil {
			if now := note.Field.held(stored); out.Left == "" && !same(now, note.before) {
				out.Left = fmt.Sprintf("the API server accepted the patch that puts %s back, but it holds %s", words(note.before), words(now))
			}
			return &out, nil
		}
		if failed = err; !refused(err) || stays(err) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("other clients changed %s during each of %d attempts: %w", o, attempts, failed)
}

// reverse is what is to be done with the field, as the object is now.
func (n Note) reverse(o Object, read *unstructured.Unstructured) (out Outcome, ops []operation) {
	out = Outcome{Object: o, Note: n}
	switch now := n.Field.held(read); {
	case n.Field == Command || same(now, n.before):
	case same(now, n.ours) && !owns(read, managerOf(n.Run), shapes[n.Field].path):
		out.Left = fmt.Sprintf("it holds what run %s had set (%s), but another client has set it since", n.Run, words(now))
	case same(now, n.ours):
		ops = n.Field.restoring(n.before)
	default:
		out.Left = fmt.Sprintf("it holds %s now, which is neither what it was (%s) nor what run %s had set (%s)", words(now), words(n.before), n.Run, words(n.ours))
	}
	return out, ops
}

// Found is a note that was found on an object.
type Found struct {
	Object
	Note
	read *unstructured.Unstructured
}

// Undo undoes the change as this note has it: one that another run has written since stays. Of a node that a command has taken away, the note alone
// goes, and the caller must have brought the node back.
func (f Found) Undo(ctx context.Context, client dynamic.Interface) (Outcome, error) {
	out, err := putBack(ctx, client, f.Object, func(n Note) bool { return n.Run == f.Run && n.Token == f.Token })
	if err != nil || out == nil {
		return Outcome{Object: f.Object, Note: f.Note}, err
	}
	return *out, nil
}

// Preview is what Undo would do, in words. It reads nothing.
func (f Found) Preview() string {
	out, ops := f.reverse(f.Object, f.read)
	switch {
	case out.Left != "":
		return fmt.Sprintf("would leave as it is: %s of %s: %s", f.Field, f.Object, out.Left)
	case f.Field == Command:
		return fmt.Sprintf("%s was taken away by a command, and must be brought back", f.Object)
	case len(ops) == 0:
		return fmt.Sprintf("%s of %s is as it was; would remove the note", f.Field, f.Object)
	}
	return fmt.Sprintf("would undo: %s of %s is to hold %s", f.Field, f.Object, words(f.before))
}

// Place is where to look for notes: a resource in a namespace; empty: in all.
type Place struct{ Resource, Namespace string }

// Everywhere are all places where notes can be.
var Everywhere = []Place{{Resource: "nodes"}, {Resource: "deployments"}, {Resource: "statefulsets"}}

// pageSize bounds one answer of a list.
const pageSize = 500

// Find lists the notes in some places. An annotation that is no note is an error, beside the notes that were found.
func Find(ctx context.Context, client dynamic.Interface, places []Place) (all []Found, err error) {
	var errs []error
	for _, p := range places {
		o := metav1.ListOptions{Limit: pageSize}
		for {
			page, err := list(ctx, client, p, o)
			if err != nil {
				return all, errors.Join(append(errs, err)...)
			}
			for _, read := range page.Items {
				f := Found{Object: Object{p.Resource, read.GetNamespace(), read.GetName(), read.GetUID()}, read: &read}
				if f.Note, err = noteOf(p.Resource, &read); err == nil {
					all = append(all, f)
				} else if !errors.Is(err, errNotThere) {
					errs = append(errs, fmt.Errorf("annotation %s of %s: %w: look at it, and remove it with 'kubectl annotate'", Annotation, f.Object, err))
				}
			}
			if o.Continue = page.GetContinue(); o.Continue == "" {
				break
			}
		}
	}
	return all, errors.Join(errs...)
}

func list(ctx context.Context, client dynamic.Interface, p Place, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	page, err := at(client, p.Resource, p.Namespace).List(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("look for notes on %s: %w", p.Resource, err)
	}
	return page, nil
}
