// Package undo changes fields of objects of a cluster that holdfast did not make, and puts them back.
//
// The undo stands on the object itself: one request changes a field and stores a Note about it in an annotation, and one request puts the field
// back and removes the note. Whatever dies in between, an object is either as it was or says how it was, and any machine finds the note by
// listing. There is no state elsewhere that could be lost, or disagree.
//
//	changes := &undo.Changes{Run: id, Hold: held, Dynamic: client, Lasts: time.Minute}
//	err := changes.Do(ctx, undo.Cordon("w1"))
//	left, err := changes.Undo(ctx)                       // the newest first
//	found, err := undo.Find(ctx, client, undo.Everywhere) // after a kill, from any machine
//	outcome, err := found[0].Undo(ctx, client)
//
// Who may write an object can also write a note on it, so a note is believed only as far as its writer's own rights reach: the undo changes that
// object alone, of that UID, and of it only the field that the note names, which must be one of the few that holdfast changes and hold a value
// that such a field can have. No word of a note is run as a command.
//
// The package does not pick what to change and does not see the effect of a change: witnesses do.
package undo
