package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-ha/holdfast/framework/fault/hold"
)

// Change is a change of one field. The functions below make each kind.
type Change struct {
	What   string // in the imperative: "cordon w1"
	Object Object
	Field  Field
	Value  any
}

// Cordon makes a node unschedulable.
func Cordon(node Object) Change {
	return Change{"cordon " + node.String(), node, Unschedulable, true}
}

// Scale sets the replicas of a workload. It goes through the workload, and not through its subresource scale, which has no annotations.
func Scale(workload Object, replicas int) Change {
	return Change{fmt.Sprintf("scale %s to %d", workload, replicas), workload, Replicas, int64(replicas)}
}

// Restart restarts a workload as `kubectl rollout restart` does. The undo puts the annotation back as it was, which restarts the workload once more.
func Restart(workload Object, at time.Time) Change {
	return Change{"restart " + workload.String(), workload, Restarted, at.UTC().Format(time.RFC3339)}
}

// Take notes on a node that a command of the user's is about to take it away.
func Take(node Object) Change {
	return Change{"note on " + node.String() + " that a command takes it away", node, Command, nil}
}

// AlreadyError means that the object is already as the change would make it. Nothing was written, and nothing is to be undone.
type AlreadyError struct{ Change }

func (e *AlreadyError) Error() string {
	return fmt.Sprintf("%s: %s of %s already holds %s, which this run has not set: choose another object, or put it back first", e.What, e.Field, e.Object, words(e.Value))
}

// Changes are those of one run. They are made and undone one after the other.
type Changes struct {
	Run     string
	Hold    *hold.Hold // nil: no other process uses the cluster
	Dynamic dynamic.Interface
	Lasts   time.Duration

	made []sent
}

// sent is an object for which a change was sent.
type sent struct {
	Object
	lost time.Time // when the answer was lost, so that the change may still arrive; zero: the answer is known
}

// attempts is how often a patch is sent whose object was changed between the read and the patch: controllers write the status of workloads
// several times a second during a rollout.
const attempts = 10

// Made reports whether a change was sent that Undo has not undone.
func (c *Changes) Made() bool { return len(c.made) > 0 }

// Do makes a change with its note, in one request. An error means that the change was not made, or that it may have been: Undo takes care of it in
// both cases. If the field already holds the value, the error is an AlreadyError. An object that another run has changed is refused.
func (c *Changes) Do(ctx context.Context, change Change) error {
	if err := c.do(ctx, change); err != nil {
		if errors.As(err, new(*AlreadyError)) {
			return err
		}
		return fmt.Errorf("%s: %w", change.What, err)
	}
	return nil
}

func (c *Changes) do(ctx context.Context, change Change) error {
	o := change.Object
	first, err := o.get(ctx, c.Dynamic)
	if err != nil {
		return err
	}
	before := change.Field.held(first)
	for read := first; ; {
		if err := c.allowed(change, first, read, before); err != nil {
			return err
		}
		note, err := c.note(change, read, before)
		if err != nil {
			return err
		}
		if err := c.Hold.Confirm(ctx); err != nil {
			return err
		}
		ops := append(change.Field.setting(read, change.Value), adding(read.Object, notePath, note)...)
		c.made = append(c.made, sent{Object: o})
		stored, err := o.patch(ctx, c.Dynamic, managerOf(c.Run), read, ops...)
		switch {
		case err == nil && !same(change.Field.held(stored), change.Value):
			return fmt.Errorf("the API server accepted the patch, but %s of %s holds %s", change.Field, o, words(change.Field.held(stored)))
		case err == nil:
			return nil
		case !refused(err):
			c.made[len(c.made)-1].lost = time.Now()
			return err
		}
		c.made = c.made[:len(c.made)-1]
		now, lost := o.get(ctx, c.Dynamic)
		if lost != nil || now.GetResourceVersion() == read.GetResourceVersion() { // nothing has changed it: the refusal is about the change
			return err
		}
		read = now
	}
}

// allowed returns an error for an object that must not be changed: it has a note, is another one, or was changed since it was read first.
func (c *Changes) allowed(change Change, first, read *unstructured.Unstructured, before any) error {
	o := change.Object
	switch note, err := noteOf(o.Resource, read); {
	case err == nil:
		return fmt.Errorf("run %s has changed %s, and has not undone it: run 'holdfast heal' first", note.Run, o)
	case !errors.Is(err, errNotThere):
		return fmt.Errorf("annotation %s of %s: %w: remove it first", Annotation, o, err)
	case o.UID != "" && read.GetUID() != o.UID || read.GetUID() != first.GetUID():
		return fmt.Errorf("%s is another object than the planned one: its UID is %s", o, read.GetUID())
	}
	now := change.Field.held(read)
	switch shape := shapes[change.Field]; {
	case change.Field == Command:
		return nil
	case same(now, change.Value):
		return &AlreadyError{change}
	case !same(now, before):
		return fmt.Errorf("another client has meanwhile changed %s of %s, to %s", change.Field, o, words(now))
	case !shape.holds(change.Value) || !shape.keeps(before):
		return fmt.Errorf("%s of %s cannot be changed from %s to %s and back", change.Field, o, words(before), words(change.Value))
	}
	return nil
}

func (c *Changes) note(change Change, read *unstructured.Unstructured, before any) (string, error) {
	n := Note{Run: c.Run, Token: c.Hold.Token(), UID: read.GetUID(), Field: change.Field, Made: time.Now().UTC(), Lasts: c.Lasts}
	var errs []error
	for _, part := range []struct {
		to    *json.RawMessage
		value any
	}{{&n.Before, before}, {&n.Ours, change.Value}} {
		if part.value != nil {
			raw, err := json.Marshal(part.value)
			*part.to, errs = raw, append(errs, err)
		}
	}
	text, err := json.Marshal(n)
	return string(text), errors.Join(append(errs, err)...)
}

// refused reports whether the API server has refused: it was not a lost answer, and not a failure of the server's own.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := int(status.Status().Code)
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// forget removes an object from those that were changed.
func (c *Changes) forget(o Object) {
	c.made = slices.DeleteFunc(c.made, func(s sent) bool { return s.Object == o })
}
