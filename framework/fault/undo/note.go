package undo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Annotation is where an object that a run has changed keeps the Note.
const Annotation = "holdfast.dev/undo"

var (
	notePath    = []string{"metadata", "annotations", Annotation}
	notePointer = pointer(notePath)
)

// Note is what a change leaves on its object.
type Note struct {
	// Run names the run, and Token is that of its hold on the cluster; see package hold.
	Run   string `json:"run"`
	Token string `json:"token,omitempty"`
	// UID is that of the object. Annotations are copied with templates and backups; such a copy is another object.
	UID   types.UID `json:"uid"`
	Field Field     `json:"field"`
	// Before is what the field held, and Ours is what the change has set. Absent: nothing.
	Before json.RawMessage `json:"before,omitempty"`
	Ours   json.RawMessage `json:"ours,omitempty"`
	// Made is when the change was made, by the clock of the run, and Lasts is how long it may last; zero: as long as the run lives.
	Made  time.Time     `json:"made"`
	Lasts time.Duration `json:"lastsNanoseconds,omitempty"`

	before, ours any
}

// mostNote bounds what is read as a note, in bytes.
const mostNote = 2000

var (
	runName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	errNoNote   = errors.New("it is not what holdfast writes there")
	errNotThere = errors.New("there is no note")
)

// noteOf reads the note of an object. It is an error for what no holdfast has written on this object.
func noteOf(resource string, read *unstructured.Unstructured) (n Note, err error) {
	text, there := read.GetAnnotations()[Annotation]
	if !there {
		return n, errNotThere
	}
	if len(text) > mostNote {
		return n, fmt.Errorf("it has %d bytes: %w", len(text), errNoNote)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&n); err != nil {
		return n, errors.Join(err, errNoNote)
	}
	var errBefore, errOurs error
	n.before, errBefore = decoded(n.Before)
	n.ours, errOurs = decoded(n.Ours)
	shape, known := shapes[n.Field]
	switch {
	case errBefore != nil || errOurs != nil:
		return n, errors.Join(errBefore, errOurs, errNoNote)
	case !runName.MatchString(n.Run):
		return n, fmt.Errorf("run %.100q has no name of a run: %w", n.Run, errNoNote)
	case !known || !slices.Contains(shape.of, resource):
		return n, fmt.Errorf("no holdfast changes %.100q of %s: %w", n.Field, resource, errNoNote)
	case !shape.holds(n.ours) || !shape.keeps(n.before):
		return n, fmt.Errorf("no holdfast sets %s from %.100q to %.100q: %w", n.Field, words(n.before), words(n.ours), errNoNote)
	case n.UID != read.GetUID():
		return n, fmt.Errorf("it was copied from another object, of UID %.100q: %w", n.UID, errNoNote)
	case !owns(read, managerOf(n.Run), notePath):
		return n, fmt.Errorf("another client than run %s has written it, as 'kubectl rollout undo' does with a copy: %w", n.Run, errNoNote)
	}
	return n, nil
}

// managerPrefix begins the names under which runs write to the API server. Each run has its own, so that the object itself says which run has
// written a note. undoer is the name under which fields are put back, the same for all runs, so that no run's name stays on objects.
const (
	managerPrefix = "holdfast-"
	undoer        = "holdfast"
	// longestManager is the API server's limit.
	//
	// Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation, FieldManagerMaxLength
	longestManager = 128
)

func managerOf(run string) string {
	name := managerPrefix + run
	return name[:min(len(name), longestManager)]
}

// owns reports whether a manager was the last to change a field. A manager that sets a field to the value that it has already does not become its
// owner.
//
// Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
func owns(read *unstructured.Unstructured, manager string, path []string) bool {
	var keys []string
	for _, key := range path {
		keys = append(keys, "f:"+key)
	}
	for _, m := range read.GetManagedFields() {
		if m.Manager != manager || m.FieldsV1 == nil {
			continue
		}
		owned := map[string]any{}
		if json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned) != nil {
			continue
		}
		if _, is, _ := unstructured.NestedFieldNoCopy(owned, keys...); is {
			return true
		}
	}
	return false
}
