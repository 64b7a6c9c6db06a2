package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/journal/field"
)

// UndoLimit bounds one call of Undo. What is not undone then is tried again by the next call, or by another process.
const UndoLimit = 2 * time.Minute

// lateWrite is how long after it was first seen not to have been made an intended change counts as never made. A request whose sender was
// killed may still be on its way: the API server aborts most of them at once, and the others end within milliseconds.
const lateWrite = 2 * time.Second

// Undo undoes every change, the newest first, and returns when each entry is finished or cannot be finished by this call. It may be called
// again, and by several processes at the same time. An undo that fails does not stop the others; those that may succeed later are tried
// again for UndoLimit. After an error, Unfinished names what is left.
func (j *Journal) Undo(ctx context.Context) error {
	return j.undoThose(ctx, func(Entry) bool { return true })
}

// UndoOnly is Undo for some of the changes, by their numbers.
func (j *Journal) UndoOnly(ctx context.Context, seqs ...int) error {
	return j.undoThose(ctx, func(e Entry) bool { return slices.Contains(seqs, e.Seq) })
}

func (j *Journal) undoThose(ctx context.Context, chosen func(Entry) bool) error {
	if j == nil || len(j.pending(chosen)) == 0 {
		return nil
	}
	failed := map[int]error{} // those of the last attempt
	next := map[int]backOff{}
	err := poll.Until(ctx, fmt.Sprintf("the changes of run %s to be undone", j.o.Run), UndoLimit, func(ctx context.Context) (bool, string, error) {
		retry := 0
		for _, e := range j.pending(chosen) {
			if !time.Now().Before(next[e.Seq].at) {
				failed[e.Seq] = j.undo(ctx, e)
				next[e.Seq] = next[e.Seq].after(failed[e.Seq])
			}
			if err := failed[e.Seq]; err != nil && !stays(err) { // what will never succeed here is not tried again
				retry++
			}
		}
		return retry == 0, fmt.Sprintf("%d not undone", retry), nil
	})
	var errs []error
	for _, e := range j.pending(chosen) {
		if failed[e.Seq] != nil {
			errs = append(errs, fmt.Errorf("undo %s: %w", e, failed[e.Seq]))
		}
	}
	if len(errs) == 0 {
		return err
	}
	return errors.Join(errs...)
}

// backOff is when an undo that failed is tried again.
type backOff struct {
	at    time.Time
	pause time.Duration
}

// longestPause is that between two attempts to undo one change. An API server that refuses is not to be flooded.
const longestPause = 10 * time.Second

// after is the next back-off after an attempt. What is only on its way is looked at in every round.
func (b backOff) after(err error) backOff {
	switch {
	case stays(err):
		return backOff{at: time.Now().Add(2 * UndoLimit)}
	case err == nil, errors.Is(err, errLate):
		return backOff{}
	}
	pause := min(max(2*b.pause, poll.Interval), longestPause)
	return backOff{time.Now().Add(pause), pause}
}

// pending are the unfinished ones of some entries: the newest first.
func (j *Journal) pending(chosen func(Entry) bool) []Entry {
	all := slices.DeleteFunc(j.Unfinished(), func(e Entry) bool { return !chosen(e) })
	slices.Reverse(all)
	return all
}

// lasting is an error of an undo that does not pass with time.
type lasting struct{ error }

func (l lasting) Unwrap() error { return l.error }

// stays reports whether an error is of no use to be tried again within a call of Undo: nobody here may do it.
func stays(err error) bool {
	var l lasting
	return errors.As(err, &l) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsMethodNotSupported(err)
}

// The errors of an undo that is on its way.
var (
	errLate  = errors.New("it is not known yet whether the change was made")
	errAgain = errors.New("the field was put back, and does not hold what it held before")
)

// undo tries once to bring an entry further. nil: it is finished.
func (j *Journal) undo(ctx context.Context, e Entry) error {
	var err error
	switch {
	case e.NoUndo != "": // it may have been made, and there is nothing to undo in either case
		j.finish(ctx, e.Seq, Left, cmp.Or(e.Why, "it is not known whether it was made, for the run ended meanwhile; "+e.NoUndo))
		return nil
	case e.Action == Set:
		err = j.undoSet(ctx, e)
	default:
		err = j.undoCommand(ctx, e)
	}
	if err != nil && !errors.Is(err, errLate) && j.entry(e.Seq).Why != err.Error() {
		j.try(ctx, e.Seq, func(e *Entry) { e.Why = err.Error() })
	}
	return err
}

// try writes down a change of an entry as far as it can be written: that it cannot is no reason not to undo.
func (j *Journal) try(ctx context.Context, seq int, change func(*Entry)) {
	if _, err := j.note(ctx, seq, change); err != nil {
		slog.Debug("write the journal while it is undone", "run", j.o.Run, "change", seq, "error", err)
	}
}

// finish ends an entry. If that cannot be written, the next process that undoes the journal will find the field as it was.
func (j *Journal) finish(ctx context.Context, seq int, state State, why string) {
	j.try(ctx, seq, func(e *Entry) { e.State, e.Why = state, why })
}

// Decision is what an undo would do with an entry, as its object is now.
type Decision struct {
	// State is what the entry would become: Undone if the field is to be put back, SeenUndone if it is so already, Left if it must not be
	// touched. Why is the reason.
	State State
	Why   string

	now any // the field's value
}

// decide compares a Set with its object.
func (j *Journal) decide(e Entry, read *unstructured.Unstructured, lost error) (d Decision, err error) {
	switch {
	case apierrors.IsNotFound(lost):
		return Decision{State: Left, Why: fmt.Sprintf("%s is gone: another client has deleted it", e.Object)}, nil
	case lost != nil:
		return d, lost
	case read.GetUID() != e.UID:
		return Decision{State: Left, Why: fmt.Sprintf("%s was deleted and created again by another client: its UID is %s now, and was %s", e.Object, read.GetUID(), e.UID)}, nil
	}
	ours, err := field.Decoded(e.Ours)
	if err != nil {
		return d, err
	}
	before, err := field.Decoded(e.Before)
	if err != nil {
		return d, err
	}
	now, err := field.Held(e.Field, read)
	if err != nil {
		return Decision{State: Left, Why: fmt.Sprintf("another client has changed %s: %v", e.Object, err)}, nil // the object has another form now
	}
	d.now = now
	by := field.Owners(read, field.Tokens(e.Field))
	mine := slices.ContainsFunc(by, func(o field.Owner) bool { return o.Manager == managerOf(j.o.Run) })
	switch {
	case field.Equal(now, before):
		d.State = SeenUndone
		if e.State == Intended {
			d.Why = "it was never made"
		}
	case mine: // also where the API server has given our value another form
		d.State = Undone
	case !field.Equal(now, ours):
		d.State, d.Why = Left, fmt.Sprintf("%s holds %s now, which is neither what it was nor what this run had set: %s", e.Field, field.InWords(now), changer(by))
	case len(by) > 0:
		d.State, d.Why = Left, fmt.Sprintf("%s holds what this run had set, but another client has set it: %s", e.Field, changer(by))
	default: // only managedFields prove that the run set it
		d.State, d.Why = Left, fmt.Sprintf("%s holds what this run was to set, and %s does not say who has set it", e.Field, e.Object)
	}
	return d, nil
}

func changer(by []field.Owner) string {
	if len(by) == 0 {
		return "changed by another client"
	}
	return "changed by " + field.Names(by)
}

// undoSet puts a field back.
func (j *Journal) undoSet(ctx context.Context, e Entry) error {
	read, err := j.get(ctx, e.Object)
	d, err := j.decide(e, read, err)
	if err != nil {
		return err
	}
	switch {
	case d.State == SeenUndone && e.State == Intended && !j.late(e.Seq):
		return errLate
	case d.State != Undone:
		j.finish(ctx, e.Seq, d.State, d.Why)
		return nil
	}
	j.try(ctx, e.Seq, func(e *Entry) { e.State = Undoing })
	ops, err := puttingBack(e, d)
	if err != nil {
		return err
	}
	if _, err := j.patch(ctx, undoer, e.Object, read, ops); err != nil {
		return err // the next attempt reads the object again
	}
	j.try(ctx, e.Seq, func(e *Entry) { e.State = Undone })
	read, err = j.get(ctx, e.Object)
	if d, err = j.decide(e, read, err); err != nil {
		return err
	}
	if d.State == Undone {
		return errAgain
	}
	j.finish(ctx, e.Seq, d.State, d.Why)
	return nil
}

// puttingBack are the operations of an undo: those that were written down, with the field's present value in the test. It differs from the value that
// was written down only if the API server has given it another form, and the run was killed before it had written that down. A field that the
// server leaves out because it is zero cannot be tested: that the object is as it was read says enough.
func puttingBack(e Entry, d Decision) (ops []field.Operation, err error) {
	for _, op := range e.Undo {
		if op.Op == "test" && op.Path == e.Field {
			if d.now == nil {
				continue
			}
			if op, err = field.Test(e.Field, d.now); err != nil {
				return nil, err
			}
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// late reports whether it was long enough ago that an intended change was first seen not to have been made.
func (j *Journal) late(seq int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.looked[seq].IsZero() {
		j.looked[seq] = time.Now()
	}
	return time.Since(j.looked[seq]) >= lateWrite
}

// undoCommand runs the command that undoes a command.
func (j *Journal) undoCommand(ctx context.Context, e Entry) error {
	if j.loaded && j.o.Commands == nil {
		return lasting{fmt.Errorf("it is undone by a command, %q, and commands in a journal are not run without being asked for: look at it, and add --run-commands on a machine that can run it", e.RunUndo)}
	}
	j.try(ctx, e.Seq, func(e *Entry) { e.State = Undoing })
	if j.loaded {
		j.o.Commands(j.o.Run, e.RunUndo)
	}
	if err := command(ctx, e.RunUndo); err != nil {
		return lasting{err}
	}
	j.finish(ctx, e.Seq, SeenUndone, "")
	return nil
}
