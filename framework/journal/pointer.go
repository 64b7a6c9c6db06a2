package journal

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// element is the last token of a pointer that means one element of a list, wherever it is.
const element = "-"

// Pointer is the JSON pointer (RFC 6901) of a field, by its path.
func Pointer(path ...string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return b.String()
}

// tokens is the inverse of Pointer.
func tokens(pointer string) []string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts
}

// lookup is the value of a field of an object. depth is how many of the tokens exist: all of them, if there is a value.
func lookup(object any, path []string) (value any, depth int, err error) {
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

// isElement reports whether a field is one element of a list, and returns the list's path.
func isElement(field string) (list []string, is bool) {
	path := tokens(field)
	if path[len(path)-1] != element {
		return path, false
	}
	return path[:len(path)-1], true
}

// indexOf is the index of an element in a list; -1: it is not there.
func indexOf(list []any, value any) int {
	return slices.IndexFunc(list, func(v any) bool { return equal(v, value) })
}

// decoded is a JSON value as the API's own decoder has it: whole numbers are int64. Nothing is nil.
func decoded(raw []byte) (value any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	err = json.Unmarshal(raw, &value)
	return value, err
}

// equal compares decoded values. A field that is absent equals zero and false: API servers leave many of them out, such as the replicas of a Scale
// to zero. It does not equal an empty string, which a label may have.
func equal(a, b any) bool {
	return reflect.DeepEqual(a, b) || a == nil && isZero(b) || b == nil && isZero(a)
}

func isZero(v any) bool { return v == int64(0) || v == float64(0) || v == false }

// worded is a value in a message.
func worded(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	const most = 60
	if text := string(raw); len(text) <= most {
		return text
	}
	return string(raw[:most]) + "..."
}

// inWords is a decoded value in a message.
func inWords(value any) string {
	if value == nil {
		return "nothing"
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return worded(raw)
}
