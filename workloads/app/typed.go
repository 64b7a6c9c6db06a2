package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// typed converts a manifest into a type of Kubernetes. The error names each field that the type does not have, and where a field has a value
// of another type.
func (m Manifest) typed(into any) error {
	text, err := m.Object.MarshalJSON()
	if err != nil {
		return err
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(text, into); errors.As(err, &wrong) {
		at := ""
		if line := m.line(keys(wrong.Field)); line > 0 {
			at = fmt.Sprintf("line %d: ", line)
		}
		return fmt.Errorf("%s%s is a %s, and must be %s", at, wrong.Field, wrong.Value, noun(wrong.Type.String()))
	} else if err != nil {
		return err
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(m.Object.Object, into, true)
	for _, found := range empty.FindAllSubmatch(text, -1) {
		if name, unquoted := strconv.Unquote(string(found[1])); err != nil && unquoted == nil {
			err = errors.New(strings.ReplaceAll(err.Error(), name+`"`, `..."`))
		}
	}
	return err
}

// empty is a field without a value. Its name may be a part of the value before it, such as a password with a comma.
var empty = regexp.MustCompile(`("(?:[^"\\]|\\.)+"):null`)

func keys(field string) (path []any) {
	for key := range strings.SplitSeq(field, ".") {
		path = append(path, key)
	}
	return path
}

// noun is what a manifest has for a type of Go.
func noun(kind string) string {
	switch {
	case strings.Contains(kind, "int"):
		return "a whole number"
	case kind == "bool":
		return "true or false"
	case kind == "string":
		return "a string"
	case strings.HasPrefix(kind, "[]"):
		return "a list"
	case strings.HasPrefix(kind, "map["):
		return "a map"
	}
	return "an object"
}
