package journal

import (
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/framework/journal/field"
)

// test is an operation that lets a patch fail unless a field holds a value.
func test(path string, value any) (Operation, error) {
	raw, err := json.Marshal(value)
	return Operation{Op: "test", Path: path, Value: raw}, err
}

// encodePatch is a patch for exactly the object that was read: nothing has changed it since, not even its status.
func encodePatch(read *unstructured.Unstructured, ops []Operation) ([]byte, error) {
	uid, err := test("/metadata/uid", read.GetUID())
	if err != nil {
		return nil, err
	}
	version, err := test("/metadata/resourceVersion", read.GetResourceVersion())
	if err != nil {
		return nil, err
	}
	return json.Marshal(append([]Operation{uid, version}, ops...))
}

// doing are the operations that make a Set. Maps that are missing on the way to the field are added.
func doing(e Entry, read *unstructured.Unstructured) ([]Operation, error) {
	path, list := field.IsElement(e.Field)
	value, depth, err := field.Lookup(read.Object, path)
	if err != nil {
		return nil, err
	}
	switch items, is := value.([]any); {
	case list && depth == len(path) && !is:
		return nil, fmt.Errorf("%s is no list", Pointer(path...))
	case list && depth == len(path):
		return []Operation{{Op: "add", Path: Pointer(append(path, strconv.Itoa(len(items)))...), Value: e.Ours}}, nil
	case depth == len(path):
		was, err := test(e.Field, value)
		return []Operation{was, {Op: "add", Path: e.Field, Value: e.Ours}}, err // which replaces
	}
	ours := e.Ours
	if list {
		ours = []byte("[" + string(ours) + "]")
	}
	for i := len(path) - 1; i > depth; i-- {
		if ours, err = json.Marshal(map[string]json.RawMessage{path[i]: ours}); err != nil {
			return nil, err
		}
	}
	return []Operation{{Op: "add", Path: Pointer(path[:depth+1]...), Value: ours}}, nil
}

// undoing are the operations that undo a Set, as they are written down.
func undoing(e Entry) ([]Operation, error) {
	uid, err := test("/metadata/uid", e.UID)
	if err != nil {
		return nil, err
	}
	ops := []Operation{uid, {Op: "test", Path: e.Field, Value: e.Ours}}
	if e.Before == nil {
		return append(ops, Operation{Op: "remove", Path: e.Field}), nil
	}
	return append(ops, Operation{Op: "add", Path: e.Field, Value: e.Before}), nil
}

// located are operations whose "-" is replaced by an index of the list.
func located(ops []Operation, pointer string, index int) []Operation {
	path, is := field.IsElement(pointer)
	if !is {
		return ops
	}
	var all []Operation
	for _, op := range ops {
		if op.Path == pointer {
			op.Path = Pointer(append(path[:len(path):len(path)], strconv.Itoa(index))...)
		}
		all = append(all, op)
	}
	return all
}
