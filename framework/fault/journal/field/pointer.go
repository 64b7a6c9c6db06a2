// Package field reads one field of an object of the API: what it holds, by its JSON pointer, and who has set it, by the object's managed fields.
// It also makes the patches that set the field, and that put it back.
//
// It reads no cluster, and sends nothing.
package field

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Pointer is the JSON pointer (RFC 6901) of a field, by its path.
func Pointer(path ...string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return b.String()
}

// Tokens is the inverse of Pointer.
func Tokens(pointer string) []string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts
}

// Lookup is the value of a field of an object. depth is how many of the tokens exist: all of them, if there is a value.
func Lookup(object any, path []string) (value any, depth int, err error) {
	value = object
	for i, token := range path {
		switch in := value.(type) {
		case map[string]any:
			next, there := in[token]
			if !there {
				return nil, i, nil
			}
			value = next
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(in) {
				return nil, i, fmt.Errorf("read %s: %q is no index of a list of %d", Pointer(path...), token, len(in))
			}
			value = in[n]
		default:
			return nil, i, fmt.Errorf("read %s: %s is neither an object nor a list", Pointer(path...), Pointer(path[:i]...))
		}
	}
	return value, len(path), nil
}

// Held is what a field of an object holds; nil: nothing.
func Held(pointer string, read *unstructured.Unstructured) (any, error) {
	value, _, err := Lookup(read.Object, Tokens(pointer))
	return value, err
}
