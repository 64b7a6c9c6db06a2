package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/base/process"
	"github.com/holdfast-ha/holdfast/framework/fault/journal/field"
)

// attempts is how often a patch is sent whose object was changed between the read and the patch: controllers write the status of workloads
// several times a second during a rollout.
const attempts = 10

// commandLimit bounds one command of the user's.
const commandLimit = 2 * time.Minute

// Do makes a change: it reads the object, writes down what it intends, makes the change if the object is still as it was read, and writes
// down that it is done. An error means that the change was not made, or that it may have been: the entry tells, and Undo takes care of it
// in both cases. If the object is already so, the error is an AlreadyError. If another process undoes this run, it is a TakenError.
func (j *Journal) Do(ctx context.Context, c Change) (Entry, error) {
	switch {
	case j == nil:
		return Entry{}, fmt.Errorf("%s: there is no journal to write it down in", c.What)
	case j.loaded:
		return Entry{}, fmt.Errorf("%s: the journal is that of run %s, which another process has begun", c.What, j.o.Run)
	}
	e, err := j.do(ctx, c)
	if err != nil && !IsAlready(err) {
		err = fmt.Errorf("%s: %w", c.What, err)
	}
	return e, err
}

func (j *Journal) do(ctx context.Context, c Change) (Entry, error) {
	if err := c.validate(); err != nil {
		return Entry{}, err
	}
	e, err := c.entry()
	if err != nil {
		return e, err
	}
	if err := j.o.Hold.Confirm(ctx); err != nil {
		return e, err
	}
	read, err := j.read(ctx, c, &e)
	if err != nil {
		return e, err
	}
	if j.changed(e) {
		return e, fmt.Errorf("this run has changed %s of %s already: that must be undone first", e.Field, e.Object)
	}
	if e, err = j.intend(ctx, e, c.For); err != nil {
		return e, err
	}
	if err := j.o.Hold.Confirm(ctx); err != nil { // writing the journal may have taken long
		return e, err
	}
	made, err := j.make(ctx, c, &e, read)
	if err != nil {
		return j.notMade(ctx, e, err)
	}
	now, err := j.note(ctx, e.Seq, func(now *Entry) {
		now.State, now.UID = Done, e.UID
		if made != nil {
			now.Ours, now.Undo = e.Ours, e.Undo
		}
	})
	return now, j.overtaken(ctx, now, err)
}

// changed reports whether a change of the same field is not undone yet. A field with two would be put back to what the older one has set, and then it would
// not say any more that this run has set it.
func (j *Journal) changed(e Entry) bool {
	return slices.ContainsFunc(j.Unfinished(), func(o Entry) bool {
		return e.Action == Set && o.Action == Set && o.Object.whole() == e.Object.whole() && o.Field == e.Field
	})
}

// overtaken undoes a change at once that was made after another process had taken the journal over, or somebody had deleted it: nobody
// else would undo it.
func (j *Journal) overtaken(ctx context.Context, e Entry, err error) error {
	var taken *TakenError
	var gone *GoneError
	if !errors.As(err, &taken) && !errors.As(err, &gone) {
		return err
	}
	return errors.Join(err, j.UndoOnly(context.WithoutCancel(ctx), e.Seq))
}

// notMade writes down that a change was refused. If it is not known whether the change was made, the entry stays as it is.
func (j *Journal) notMade(ctx context.Context, e Entry, refused error) (Entry, error) {
	if !definite(refused) {
		return e, refused
	}
	now, err := j.note(ctx, e.Seq, func(now *Entry) { now.State, now.Why = SeenUndone, "it was never made: "+refused.Error() })
	var taken *TakenError
	if errors.As(err, &taken) {
		return now, errors.Join(refused, err)
	}
	return now, refused // the entry in the cluster says intended, and the next look at the object will show the same
}

// refusal is an error after which it is certain that the change was not made.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// definite reports whether the API server has refused: it was not a lost answer, and not a failure of the server's own.
func definite(err error) bool {
	var refused refusal
	var status apierrors.APIStatus
	if errors.As(err, &refused) {
		return true
	}
	if !errors.As(err, &status) {
		return false
	}
	return definiteCode(int(status.Status().Code))
}

func definiteCode(code int) bool {
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// read reads the object of a Set, and completes the entry with what it finds.
func (j *Journal) read(ctx context.Context, c Change, e *Entry) (*unstructured.Unstructured, error) {
	if c.Action != Set {
		return nil, nil
	}
	read, err := j.get(ctx, e.Object)
	if err != nil {
		return nil, err
	}
	if e.UID != "" && e.UID != read.GetUID() {
		return nil, fmt.Errorf("%s was deleted and created again: its UID is %s, and not %s", e.Object, read.GetUID(), e.UID)
	}
	if read.GetDeletionTimestamp() != nil {
		return nil, fmt.Errorf("%s is being deleted", e.Object)
	}
	if err := j.told(ctx, e.Object, read); err != nil {
		return nil, err
	}
	e.UID = read.GetUID()
	return read, e.sees(c, read)
}

// told returns an error for an object of which the API server does not keep who has set which field. A change of it could not be told from that of another
// client, and would not be undone.
func (j *Journal) told(ctx context.Context, o Object, read *unstructured.Unstructured) (err error) {
	if len(read.GetManagedFields()) == 0 && o.Subresource != "" {
		read, err = j.getOne(ctx, o.whole())
	}
	if err == nil && len(read.GetManagedFields()) == 0 {
		err = fmt.Errorf("%s does not say who has set its fields (it has no metadata.managedFields): it is not changed, because the change could not be undone safely", o)
	}
	return err
}

// sees completes an entry with what the field holds before.
func (e *Entry) sees(c Change, read *unstructured.Unstructured) error {
	ours, err := field.Decoded(e.Ours)
	if err != nil {
		return err
	}
	before, err := field.Held(e.Field, read)
	if err != nil {
		return err
	}
	if field.Equal(before, ours) {
		return &AlreadyError{c.What, e.Object}
	}
	if e.Before = nil; before != nil {
		if e.Before, err = json.Marshal(before); err != nil {
			return err
		}
	}
	e.Undo = nil
	if e.NoUndo == "" {
		e.Undo, err = field.Restoring(e.UID, e.Field, e.Ours, e.Before)
	}
	return err
}

// make makes the change. For a Set it returns the object as the API server has stored it.
func (j *Journal) make(ctx context.Context, c Change, e *Entry, read *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	switch c.Action {
	case Set:
		return j.set(ctx, c, e, read)
	case Evict:
		return nil, j.evict(ctx, e)
	default:
		return nil, command(ctx, c.Run)
	}
}

// set patches the object. If something has changed it since it was read, it is read again: only if the field is still as it was written down, the
// patch is sent once more.
func (j *Journal) set(ctx context.Context, c Change, e *Entry, read *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	for range attempts {
		ops, err := field.Setting(e.Field, e.Ours, read)
		if err != nil {
			return nil, refusal{err}
		}
		made, err := j.patch(ctx, managerOf(j.o.Run), e.Object, read, ops)
		if err == nil {
			return made, e.stored(made)
		}
		if !definite(err) {
			return nil, err
		}
		now, lost := j.get(ctx, e.Object)
		if lost != nil {
			return nil, err
		}
		if now.GetResourceVersion() == read.GetResourceVersion() {
			return nil, err // nothing has changed it: the refusal is about the change
		}
		again := *e
		if err := again.sees(c, now); err != nil {
			return nil, refusal{err}
		}
		if again.UID != now.GetUID() || string(again.Before) != string(e.Before) {
			return nil, refusal{fmt.Errorf("%s of %s was changed by another client meanwhile, to %s", e.Field, e.Object, field.Worded(again.Before))}
		}
		read = now
	}
	return nil, refusal{fmt.Errorf("%s was changed by others during each of %d attempts", e.Object, attempts)}
}

// patch sends a patch for exactly the object that was read, under the name of a manager.
func (j *Journal) patch(ctx context.Context, manager string, o Object, read *unstructured.Unstructured, ops []field.Operation) (*unstructured.Unstructured, error) {
	body, err := field.Patch(read, ops)
	if err != nil {
		return nil, refusal{err}
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var sub []string
	if o.Subresource != "" {
		sub = []string{o.Subresource}
	}
	return j.at(o).Patch(ctx, o.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: manager}, sub...)
}

// stored completes an entry with the value in the form in which the API server has stored it. If the server has accepted the patch and the field
// is as before, something in the cluster has put it back.
func (e *Entry) stored(made *unstructured.Unstructured) error {
	ours, err := field.Decoded(e.Ours)
	if err != nil {
		return err
	}
	now, err := field.Held(e.Field, made)
	if err != nil || field.Equal(now, ours) {
		return err
	}
	raw, err := json.Marshal(now)
	if err != nil {
		return err
	}
	before, err := field.Decoded(e.Before)
	if err != nil {
		return err
	}
	if now == nil || field.Equal(now, before) {
		return refusal{fmt.Errorf("the API server accepted the patch, but %s of %s still holds %s", e.Field, e.Object, field.Worded(e.Before))}
	}
	if e.Ours = raw; e.NoUndo == "" {
		e.Undo, err = field.Restoring(e.UID, e.Field, e.Ours, e.Before)
	}
	return err
}

// evict asks for the eviction of exactly this pod.
func (j *Journal) evict(ctx context.Context, e *Entry) error {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: e.Object.Namespace, Name: e.Object.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: exactly(e.UID)},
	})
	if err != nil {
		return refusal{err}
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	_, err = j.at(e.Object).Create(ctx, &unstructured.Unstructured{Object: raw}, metav1.CreateOptions{}, "eviction")
	return err
}

// command runs a command of the user's, without a shell, and ends what it leaves.
func command(ctx context.Context, argv []string) error {
	var out bytes.Buffer
	if err := process.RunGroup(ctx, commandLimit, &out, argv...); err != nil {
		const most = 500
		return fmt.Errorf("run %q: %w: %s", argv, err, out.Bytes()[max(0, out.Len()-most):])
	}
	return nil
}
