package expect

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// JSON is a value that a body in JSON must have.
type JSON struct {
	// Path finds one value, in the syntax of `kubectl get -o jsonpath`, such as {.items[0].id}.
	Path string `json:"path"`
	// Equals is the value, as `kubectl get -o jsonpath` prints it; nil: any value is good.
	Equals *string `json:"equals,omitempty"`
}

// Compile reads the path. A path keeps state while it looks for values, so each goroutine needs its own.
func (j JSON) Compile() (*jsonpath.JSONPath, error) {
	path := jsonpath.New("path")
	parsed, err := jsonpath.Parse("path", j.Path)
	if err == nil {
		err = path.Parse(j.Path)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("expect a value at path %q: %w", j.Path, err)
	case len(parsed.Root.Nodes) != 1 || !strings.HasPrefix(j.Path, "{"):
		return nil, fmt.Errorf("expect a value at path %q: want one path in braces, such as {.items[0].id}", j.Path)
	}
	list, is := parsed.Root.Nodes[0].(*jsonpath.ListNode)
	if !is || len(list.Nodes) == 0 {
		return nil, fmt.Errorf("expect a value at path %q: it names no value", j.Path)
	}
	for _, n := range list.Nodes {
		switch n.Type() {
		case jsonpath.NodeIdentifier, jsonpath.NodeText, jsonpath.NodeInt, jsonpath.NodeFloat, jsonpath.NodeBool: // range, or a constant
			return nil, fmt.Errorf("expect a value at path %q: %w", j.Path, errNoPath)
		}
	}
	return path, nil
}

var errNoPath = errors.New("it has a word that is no part of a path; fields begin with a dot")
