package field

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Test is an operation that lets a patch fail unless a field holds a value.
func Test(path string, value any) (Operation, error) {
	raw, err := json.Marshal(value)
	return Operation{Op: "test", Path: path, Value: raw}, err
}

// Patch is a JSON patch for exactly the object that was read: nothing has changed it since, not even its status.
func Patch(read *unstructured.Unstructured, ops []Operation) ([]byte, error) {
	uid, err := Test("/metadata/uid", read.GetUID())
	if err != nil {
		return nil, err
	}
	version, err := Test("/metadata/resourceVersion", read.GetResourceVersion())
	if err != nil {
		return nil, err
	}
	return json.Marshal(append([]Operation{uid, version}, ops...))
}

// Setting are the operations that set a field of an object that was read. Maps that are missing on the way to the field are added.
func Setting(pointer string, ours json.RawMessage, read *unstructured.Unstructured) ([]Operation, error) {
	path := Tokens(pointer)
	value, depth, err := Lookup(read.Object, path)
	if err != nil {
		return nil, err
	}
	if depth == len(path) {
		was, err := Test(pointer, value)
		return []Operation{was, {Op: "add", Path: pointer, Value: ours}}, err // which replaces
	}
	for i := len(path) - 1; i > depth; i-- {
		if ours, err = json.Marshal(map[string]json.RawMessage{path[i]: ours}); err != nil {
			return nil, err
		}
	}
	return []Operation{{Op: "add", Path: Pointer(path[:depth+1]...), Value: ours}}, nil
}

// Restoring are the operations that put a field of the object with a UID back from ours to what it held before; nil: nothing.
func Restoring(of types.UID, pointer string, ours, before json.RawMessage) ([]Operation, error) {
	uid, err := Test("/metadata/uid", of)
	if err != nil {
		return nil, err
	}
	ops := []Operation{uid, {Op: "test", Path: pointer, Value: ours}}
	if before == nil {
		return append(ops, Operation{Op: "remove", Path: pointer}), nil
	}
	return append(ops, Operation{Op: "add", Path: pointer, Value: before}), nil
}
