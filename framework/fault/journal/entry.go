package journal

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/fault/journal/field"
)

// Object names one object of the API, or a subresource of it.
type Object struct {
	Group       string `json:"group,omitempty"`
	Version     string `json:"version"`
	Resource    string `json:"resource"` // in the plural, as in a URL
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name"`
}

func (o Object) String() string {
	text := o.Resource + "/" + o.Name
	if o.Namespace != "" {
		text = o.Namespace + "/" + text
	}
	return text
}

func (o Object) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: o.Group, Version: o.Version, Resource: o.Resource}
}

// whole is the object without its subresource.
func (o Object) whole() Object {
	o.Subresource = ""
	return o
}

// Action is how an entry changes the cluster.
type Action string

// The actions.
const (
	// Set sets one field of an object. Its undo puts the value back that was there.
	Set Action = "set"
	// Evict evicts a pod through the eviction API. There is nothing to undo: its controller makes another. No journal deletes one.
	Evict Action = "evict"
	// Command runs a command of the user's. Its undo is another command: only the process that ran the first, or a heal that is told to
	// run commands, runs it.
	Command Action = "command"
)

// State is how far an entry has come.
type State string

// The states, in order. An entry that is SeenUndone or Left is finished.
const (
	// Intended: written down; whether the change was made is not known yet.
	Intended State = "intended"
	// Done: the API server has accepted the change.
	Done State = "done"
	// Seen: a witness has seen its effect.
	Seen State = "seen"
	// Undoing: the undo was written down.
	Undoing State = "undoing"
	// Undone: the API server has accepted the undo.
	Undone State = "undone"
	// SeenUndone: the field was read back, and holds what it held before; or the change was never made, and Why says so.
	SeenUndone State = "seen undone"
	// Left: it must not be undone, and Why says why: another client has changed the field since, or the object is gone.
	Left State = "left"
)

// Entry is one change, as it is written down. It is data, so that another version of holdfast on another machine can undo it.
type Entry struct {
	Seq    int       `json:"seq"` // from 1
	What   string    `json:"what"`
	Action Action    `json:"action"`
	Object Object    `json:"object,omitzero"`
	UID    types.UID `json:"uid,omitempty"` // of the object
	// Field is the JSON pointer of the field.
	Field string `json:"field,omitempty"`
	// Before is what the field held, and Ours is what the change makes of it. Absent: nothing.
	Before json.RawMessage `json:"before,omitempty"`
	Ours   json.RawMessage `json:"ours,omitempty"`
	// Undo is the patch that undoes the change: it tests the UID and the field, and then changes the field. It is empty where the undo is no
	// patch.
	Undo []field.Operation `json:"undo,omitempty"`
	// Run is the command of a Command, and RunUndo the one that undoes it.
	Run     []string `json:"run,omitempty"`
	RunUndo []string `json:"runUndo,omitempty"`
	// NoUndo is why there is nothing to undo. Empty: there is.
	NoUndo string `json:"noUndo,omitempty"`
	// Deadline is when the change must be undone at the latest, by the clock of the process that made it; zero: at the journal's own.
	Deadline time.Time `json:"deadline,omitzero"`
	// Witness is what a witness saw of the effect, in words.
	Witness string `json:"witness,omitempty"`
	State   State  `json:"state"`
	// Why is the reason of a state that needs one, or the error of the last attempt to undo the change.
	Why string `json:"why,omitempty"`
}

// Finished reports whether there is nothing left to undo.
func (e Entry) Finished() bool {
	return e.State == SeenUndone || e.State == Left || e.NoUndo != "" && e.State != Intended
}

// back says what the undo of a Set does, in other words than those of the journal, which may be forged.
func (e Entry) back() string {
	if e.Action != Set {
		return ""
	}
	return fmt.Sprintf(" (%s of %s is to hold %s)", e.Field, e.Object, field.Worded(e.Before))
}

func (e Entry) String() string { return fmt.Sprintf("change %d: %s", e.Seq, e.What) }

// key is the entry's key in the ConfigMap. Keys sort by age.
func (e Entry) key() string { return fmt.Sprintf("change-%06d", e.Seq) }

// Header is what is true of all entries of a journal.
type Header struct {
	// Format is that of the journal: 1.
	Format int `json:"format"`
	// Run names the run, and Command is its command line.
	Run     string `json:"run"`
	Command string `json:"command"`
	// Token is that of the hold on the cluster, so that a healer can tell whether the Lease belongs to this run; see package hold.
	Token string `json:"token,omitempty"`
	// Cluster is the UID of the namespace kube-system. Entries are never undone in another cluster.
	Cluster types.UID `json:"cluster"`
	// Began is when the journal was begun, by the clock of the process that began it, and Duration is how long its changes may last.
	// Zero: as long as that process lives.
	Began    time.Time     `json:"began"`
	Duration time.Duration `json:"durationNanoseconds,omitempty"`
}
