package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/fault/journal/field"
)

// Change describes a change. The functions below make the usual ones.
type Change struct {
	// What is the change in words, in the imperative: "cordon w1".
	What   string
	Action Action
	Object Object
	// UID refuses another object of the same name. Empty: the object that there is.
	UID types.UID
	// Field is the JSON pointer (RFC 6901) of the field that a Set sets, and Value is what it sets, in the form in which the API server
	// stores it. A Set cannot remove a field: an absent field does not show who has removed it.
	Field string
	Value any
	// Run is the command of a Command, with its arguments, and RunUndo undoes it.
	Run, RunUndo []string
	// NoUndo is why nothing has to be undone. Empty: the change is undone.
	NoUndo string
	// For is how long the change may last. Zero: as long as the journal says.
	For time.Duration
}

// controllerMakesAnother is why the end of a pod needs no undo.
const controllerMakesAnother = "nothing to undo: its controller makes another"

// Resources whose changes have a function below.
func node(name string) Object { return Object{Version: "v1", Resource: "nodes", Name: name} }

func pod(namespace, name string) Object {
	return Object{Version: "v1", Resource: "pods", Namespace: namespace, Name: name}
}

// Workload is a Deployment, StatefulSet, DaemonSet or ReplicaSet, by its resource: "deployments".
func Workload(resource, namespace, name string) Object {
	return Object{Group: "apps", Version: "v1", Resource: resource, Namespace: namespace, Name: name}
}

// Cordon makes a node unschedulable. If it is so already, Do returns an AlreadyError: a node that another client has cordoned is never
// uncordoned.
func Cordon(name string) Change {
	return Change{What: "cordon " + name, Action: Set, Object: node(name), Field: "/spec/unschedulable", Value: true}
}

// Label sets a label of a node.
func Label(name, key, value string) Change {
	return Change{What: fmt.Sprintf("label %s with %s=%s", name, key, value), Action: Set, Object: node(name),
		Field: Pointer("metadata", "labels", key), Value: value}
}

// Scale sets the replicas of a workload through its subresource scale: nothing more needs to be permitted. To zero it is scaled through the workload
// itself: API servers leave a zero out of the subresource, and then do not keep who has set it.
func Scale(workload Object, replicas int) Change {
	if replicas > 0 {
		workload.Subresource = "scale"
	}
	return Change{What: fmt.Sprintf("scale %s to %d", workload, replicas), Action: Set, Object: workload, Field: "/spec/replicas", Value: int64(replicas)}
}

// restartedAt is the annotation of a pod template with which kubectl restarts a workload.
//
// Source: k8s.io/kubectl/pkg/polymorphichelpers/objectrestarter.go
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// Restart restarts a workload as `kubectl rollout restart` does. The undo puts the annotation back as it was, which restarts the workload
// once more. With NoUndo set, the annotation stays.
func Restart(workload Object, at time.Time) Change {
	return Change{What: "restart " + workload.String(), Action: Set, Object: workload,
		Field: Pointer("spec", "template", "metadata", "annotations", restartedAt), Value: at.Format(time.RFC3339)}
}

// EvictPod evicts a pod of that UID, if its budget allows it.
func EvictPod(namespace, name string, uid types.UID) Change {
	return Change{What: "evict pod " + namespace + "/" + name, Action: Evict, Object: pod(namespace, name), UID: uid, NoUndo: controllerMakesAnother}
}

// RunCommand runs a command of the user's, whose undo is another command.
func RunCommand(run, undo []string) Change {
	return Change{What: fmt.Sprintf("run %q", run), Action: Command, Run: run, RunUndo: undo}
}

// validate is an error if the change is not complete, or is one that no journal makes.
func (c Change) validate() error {
	var wrong string
	switch {
	case c.What == "":
		wrong = "it does not say what it is"
	case c.Action == Command && len(c.Run) == 0:
		wrong = "it has no command"
	case c.Action == Command && len(c.RunUndo) == 0 && c.NoUndo == "":
		wrong = "it has no command that undoes it, and no reason why nothing has to be undone"
	case c.Action == Command:
	case c.Object.Resource == "" || c.Object.Version == "" || c.Object.Name == "":
		wrong = "it names no object"
	case c.Object.Group == "" && c.Object.Resource == "secrets":
		wrong = "a journal neither reads nor writes Secrets"
	case c.Action == Set && !strings.HasPrefix(c.Field, "/"):
		wrong = fmt.Sprintf("field %q is no JSON pointer", c.Field)
	case c.Action == Set && c.Value == nil:
		wrong = "it sets nothing; a journal removes no fields, for an absent field does not show who has removed it"
	case c.Action == Set && slices.Contains([]string{"/metadata/uid", "/metadata/name", "/metadata/namespace", "/metadata/resourceVersion"}, c.Field):
		wrong = "field " + c.Field + " is not to be changed"
	case c.Action == Evict && (c.UID == "" || c.Object.Resource != "pods" || c.Object.Group != ""):
		wrong = "only pods are evicted, and only one of a known UID"
	case c.Action == Evict && c.NoUndo == "":
		wrong = "a pod that is gone cannot be brought back"
	case !slices.Contains([]Action{Set, Evict}, c.Action):
		wrong = fmt.Sprintf("action %q is unknown", c.Action)
	}
	if wrong != "" {
		return fmt.Errorf("change %q: %s", c.What, wrong)
	}
	return nil
}

// entry is the change as it is written down before anything is known of the object.
func (c Change) entry() (Entry, error) {
	e := Entry{What: c.What, Action: c.Action, Object: c.Object, UID: c.UID, Field: c.Field, Run: c.Run, RunUndo: c.RunUndo, NoUndo: c.NoUndo, State: Intended}
	if c.Action != Set {
		return e, nil
	}
	var err error
	if e.Ours, err = json.Marshal(c.Value); err != nil {
		err = fmt.Errorf("change %q: write it down: %w", c.What, err)
	}
	return e, err
}

// AlreadyError means that the object is already as the change would make it. Nothing was written, and nothing is to be undone.
type AlreadyError struct {
	What   string
	Object Object
}

func (e *AlreadyError) Error() string {
	return fmt.Sprintf("%s: it is so already, and not by this run: choose another object, or have it put back first", e.What)
}

// IsAlready reports whether an error is an AlreadyError.
func IsAlready(err error) bool {
	var already *AlreadyError
	return errors.As(err, &already)
}

// preconditions of a deletion: exactly this object.
func exactly(uid types.UID) *metav1.Preconditions { return &metav1.Preconditions{UID: &uid} }

// Pointer is the JSON pointer (RFC 6901) of a field, by its path.
func Pointer(path ...string) string { return field.Pointer(path...) }
