package field

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/json"
)

// Decoded is a JSON value as the API's own decoder has it: whole numbers are int64. Nothing is nil.
func Decoded(raw []byte) (value any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	err = json.Unmarshal(raw, &value)
	return value, err
}

// Equal compares decoded values. A field that is absent equals zero and false: API servers leave many of them out, such as the replicas of a Scale
// to zero. It does not equal an empty string, which a label may have.
func Equal(a, b any) bool {
	return reflect.DeepEqual(a, b) || a == nil && isZero(b) || b == nil && isZero(a)
}

func isZero(v any) bool { return v == int64(0) || v == float64(0) || v == false }

// Worded is a value in a message.
func Worded(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	const most = 60
	if text := string(raw); len(text) <= most {
		return text
	}
	return string(raw[:most]) + "..."
}

// InWords is a decoded value in a message.
func InWords(value any) string {
	if value == nil {
		return "nothing"
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return Worded(raw)
}
