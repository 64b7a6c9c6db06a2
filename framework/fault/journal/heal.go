package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Healed is what became of one journal.
type Healed struct {
	Header
	// Entries are its changes, the oldest first.
	Entries []Entry
	// Differences are the fields that are not as they were before the first change, and Unread is what could not be compared.
	Differences []Difference
	Unread      []string
	// By is who had undone the journal before; empty: nobody had.
	By string
	// Err is why not everything is undone. The journal stays then.
	Err error
}

// Heal undoes the journals of a cluster, compares the cluster with the fingerprints, and removes the journals in which nothing is left to undo. One that
// fails does not stop the others. The caller holds the cluster.
func Heal(ctx context.Context, w Where, by string) ([]Healed, error) {
	all, err := Find(ctx, w)
	healed, failed := HealThese(ctx, all, by)
	return healed, errors.Join(err, failed)
}

// HealThese is Heal for some journals.
func HealThese(ctx context.Context, all []*Journal, by string) (healed []Healed, err error) {
	var errs []error
	for _, j := range all {
		h := j.heal(ctx, by)
		healed = append(healed, h)
		if h.Err != nil {
			errs = append(errs, fmt.Errorf("undo the changes of run %s: %w", h.Run, h.Err))
		}
	}
	return healed, errors.Join(errs...)
}

func (j *Journal) heal(ctx context.Context, by string) Healed {
	h := Healed{Header: j.Header(), Unread: j.Unread(), By: j.store.taker}
	if len(j.Unfinished()) > 0 {
		h.By = ""
		h.Err = errors.Join(j.TakeOver(ctx, by), j.Undo(ctx))
	}
	h.Entries = j.Entries()
	var err error
	if h.Differences, err = j.Differences(ctx); err != nil {
		h.Err = errors.Join(h.Err, err)
	}
	if h.Err == nil {
		h.Err = j.Clear(ctx)
	}
	return h
}

// Unexplained are the differences that nothing explains.
func (h Healed) Unexplained() []Difference {
	return slices.DeleteFunc(slices.Clone(h.Differences), func(d Difference) bool { return d.Why != "" })
}

// Lines say what became of the journal, a sentence a line.
func (h Healed) Lines() (lines []string) {
	who := ""
	if h.By != "" {
		who = ", by " + h.By
	}
	for _, e := range h.Entries {
		switch {
		case e.State == SeenUndone && e.Why != "": // it was never made
		case e.State == SeenUndone:
			lines = append(lines, "undone: "+e.What+e.back()+who)
		case e.State == Left:
			lines = append(lines, "left as it is: "+e.What+": "+e.Why)
		case e.Finished():
			lines = append(lines, "not to be undone: "+e.What+": "+e.NoUndo)
		default:
			lines = append(lines, "NOT undone: "+e.What+": "+e.Why)
		}
	}
	for _, d := range h.Differences {
		lines = append(lines, "differs: "+d.String())
	}
	for _, u := range h.Unread {
		lines = append(lines, "not compared: "+u)
	}
	return lines
}
