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

// decode reads a manifest into the type that the API server has for it. The error names the object, and the field that has a value of another type.
func (m Manifest) decode(into any) error {
	text, err := m.Object.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		at := ""
		if line := m.line(keys(wrong.Field)); line > 0 {
			at = fmt.Sprintf("line %d: ", line)
		}
		err = fmt.Errorf("%s%s is a %s, and must be %s", at, wrong.Field, wrong.Value, noun(wrong.Type.String()))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m, err)
	}
	return nil
}

// typed converts a manifest that can be decoded into a type of Kubernetes. The error names each field that the type does not have.
func (m Manifest) typed(into any) error {
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(m.Object.Object, into, true)
	text, _ := m.Object.MarshalJSON()
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
	case kind == "[]uint8":
		return "a string in base64"
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
