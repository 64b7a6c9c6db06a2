// Package journal makes changes to objects of a cluster that somebody will want back, and undoes them.
//
// A caller describes a change as data (Change). The journal writes down what it intends, in two places: a ConfigMap in the cluster, so
// that any machine can undo the change, and a local file. Only then does it make the change, and only if the object is still as it was
// read. If either place cannot be written, the change is not made. The undo is conditional in the same way: it happens only while the
// field holds the value that this run has set. What another client has changed since is left, and the entry says why.
//
//	j, err := journal.Open(ctx, journal.Options{Run: id, Client: client, Dynamic: untyped, File: path, Hold: held})
//	e, err := j.Do(ctx, journal.Cordon("w1"))      // written down, made, and written down again
//	err = j.Seen(ctx, e.Seq, "the scheduler ...")  // a witness has seen it
//	err = j.Undo(ctx)                              // everything, the newest first
//	err = j.Clear(ctx)                             // the ConfigMap goes when nothing is left to undo
//
// After a kill, Find reads the journals of a cluster, and their Undo does the rest. framework/fault/journal/healer runs it in the cluster.
//
// The package does not pick what to change, does not judge what came of it, and does not see the effect of a change: witnesses do. It
// never reads or writes Secrets. What nodes themselves keep (the undo scripts of framework/fault/node) is not in the journal: those faults
// cut off the API server, which a journal needs.
package journal
