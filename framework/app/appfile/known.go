package appfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// known returns an error for each field of a document that the type of like does not have, with its place and the field that may have
// been meant. The decoder itself would say the line only, and the name of a Go type.
func known(n *yaml.Node, like any) error {
	return errors.Join(unknown(n, reflect.TypeOf(like), "")...)
}

func unknown(n *yaml.Node, t reflect.Type, path string) (errs []error) {
	optional := t.Kind() == reflect.Pointer
	if optional {
		t = t.Elem()
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind != yaml.ScalarNode && isText(t):
		errs = append(errs, fmt.Errorf("line %d, column %d: %s: want %s", n.Line, n.Column, path, wanted(t)))
	case t == reflect.TypeFor[Faults](): // its own method knows
	case n.Kind == yaml.ScalarNode && slices.Contains([]reflect.Kind{reflect.Bool, reflect.Int, reflect.Float64}, t.Kind()):
		if n.Decode(reflect.New(t).Interface()) != nil || t == reflect.TypeFor[Rate]() && !Rate(0).valid(n) {
			errs = append(errs, fmt.Errorf("line %d, column %d: %s: %q: want %s", n.Line, n.Column, path, n.Value, wanted(t)))
		}
	case n.Kind == yaml.ScalarNode && reflect.PointerTo(t).Implements(unmarshaler): // it may be a text
	case n.Kind == yaml.ScalarNode && t == duration:
		if _, err := time.ParseDuration(n.Value); err != nil {
			errs = append(errs, fmt.Errorf("line %d, column %d: %s: want %s", n.Line, n.Column, path, wanted(t)))
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Map:
		for i := 0; i+1 < len(n.Content); i += 2 {
			errs = append(errs, unknown(n.Content[i+1], t.Elem(), path+"."+n.Content[i].Value)...)
		}
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, one := range n.Content {
			errs = append(errs, unknown(one, t.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		fields := fieldsOf(t)
		var seen []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			at := strings.TrimPrefix(path+"."+key.Value, ".")
			field, has := fields[key.Value]
			switch {
			case slices.Contains(seen, key.Value):
				errs = append(errs, fmt.Errorf("line %d, column %d: field %s is there twice", key.Line, key.Column, at))
			case !has:
				errs = append(errs, noSuchField(key, at, fields))
			default:
				errs = append(errs, unknown(value, field, at)...)
			}
			seen = append(seen, key.Value)
		}
	case n.Kind == yaml.MappingNode, n.Kind == yaml.SequenceNode && t.Kind() != reflect.Slice,
		n.Kind == yaml.ScalarNode && (n.Tag != "!!null" || optional) && t.Kind() == reflect.Struct, // of an optional one, {} means something
		n.Kind == yaml.ScalarNode && n.Tag != "!!null" && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map):
		errs = append(errs, fmt.Errorf("line %d, column %d: %s: want %s", n.Line, n.Column, cmp.Or(path, "the file"), wanted(t)))
	}
	return errs
}

// The types whose fields in YAML are not of their own kind.
var (
	unmarshaler = reflect.TypeFor[yaml.Unmarshaler]()
	duration    = reflect.TypeFor[time.Duration]()
)

// isText reports whether a type is read from a text only.
func isText(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(unmarshaler) && len(fieldsOf(t)) == 0
}

func noSuchField(key *yaml.Node, at string, fields map[string]reflect.Type) error {
	names := slices.Sorted(maps.Keys(fields))
	return fmt.Errorf("line %d, column %d: there is no field %s: %s", key.Line, key.Column, at, scenario.Wanted(key.Value, names))
}

// fieldsOf are the types of a struct's fields by their names in YAML.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		if name, tagged := t.Field(i).Tag.Lookup("yaml"); tagged {
			fields[name] = t.Field(i).Type
		}
	}
	return fields
}

// wanted is what a field of a type has as its value.
func wanted(t reflect.Type) string {
	switch {
	case t == duration:
		return "a duration such as 2s or 500ms"
	case t == reflect.TypeFor[Failed]():
		return wantedFailed
	case t == reflect.TypeFor[Span]():
		return wantedSpan
	case t == reflect.TypeFor[Rate]():
		return fmt.Sprintf("a number of requests a second, above 0 and at most %d", load.MaxRate)
	case t == reflect.TypeFor[Idle]():
		return wantedIdle
	case t == reflect.TypeFor[Like]():
		return "before"
	case t == reflect.TypeFor[ByProbe]():
		return "names of probes, each with what is promised of it"
	case t == reflect.TypeFor[Header]():
		return "a text, or fromSecret"
	case reflect.PointerTo(t).Implements(unmarshaler):
		return "a text"
	}
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "fields of its own"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Float64:
		return "a number"
	}
	return "a text"
}
