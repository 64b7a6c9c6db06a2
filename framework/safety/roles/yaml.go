package roles

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Write writes objects as YAML documents, each with its notes as comments.
func Write(out io.Writer, objects []Object) error {
	for i, o := range objects {
		text, err := document(o)
		if err != nil {
			return err
		}
		if i > 0 {
			text = "---\n" + text
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return nil
}

// document is an object without the fields that only a cluster sets.
func document(o Object) (string, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Object)
	if err != nil {
		return "", fmt.Errorf("write %T: %w", o.Object, err)
	}
	delete(fields, "status")
	if fields["kind"] == "Namespace" { // which has none of its own
		delete(fields, "spec")
	}
	if meta, is := fields["metadata"].(map[string]any); is {
		delete(meta, "creationTimestamp")
	}
	text, err := yaml.Marshal(fields)
	if err != nil {
		return "", fmt.Errorf("write %T: %w", o.Object, err)
	}
	var notes strings.Builder
	for _, note := range o.Notes {
		fmt.Fprintf(&notes, "# %s\n", note)
	}
	return notes.String() + string(text), nil
}
