package undo

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Field is a field that a change sets, or Command.
type Field string

// The fields. No other is ever changed or put back.
const (
	Unschedulable Field = "spec.unschedulable" // of a node
	Replicas      Field = "spec.replicas"      // of a workload
	Restarted     Field = "spec.template.metadata.annotations." + RestartedAt
	// Command is no field: a command of the user's has taken the node away, and another one brings it back.
	Command Field = "command"
)

// RestartedAt is the annotation of a pod template with which kubectl restarts a workload.
//
// Source: k8s.io/kubectl/pkg/polymorphichelpers/objectrestarter.go
const RestartedAt = "kubectl.kubernetes.io/restartedAt"

// shapes are where a field is, and which values it can have; nil: the field is absent.
var shapes = map[Field]struct {
	of           []string
	path         []string
	holds, keeps func(value any) bool // what a change sets, and what was there before
}{
	Unschedulable: {
		[]string{"nodes"}, []string{"spec", "unschedulable"},
		func(v any) bool { return v == true }, func(v any) bool { return v == nil || v == false },
	},
	Replicas:  {workloads, []string{"spec", "replicas"}, isCount, isCount},
	Restarted: {workloads, []string{"spec", "template", "metadata", "annotations", RestartedAt}, isTime, func(v any) bool { return v == nil || isTime(v) }},
	Command:   {[]string{"nodes"}, nil, isNil, isNil},
}

var workloads = []string{"deployments", "statefulsets"}

func isNil(v any) bool { return v == nil }

func isCount(v any) bool {
	n, is := v.(int64)
	return is && n >= 0
}

func isTime(v any) bool {
	text, is := v.(string)
	_, err := time.Parse(time.RFC3339, text)
	return is && err == nil
}

// held is what a field of an object holds; nil: nothing.
func (f Field) held(read *unstructured.Unstructured) any {
	if f == Command {
		return nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(read.Object, shapes[f].path...)
	return value
}

// setting are the operations that set the field of an object that was read. Maps that are missing on the way to it are added.
func (f Field) setting(read *unstructured.Unstructured, value any) []operation {
	return adding(read.Object, shapes[f].path, value)
}

func adding(object map[string]any, path []string, value any) []operation {
	if len(path) == 0 {
		return nil
	}
	there := 0
	for below := any(object); there < len(path)-1; there++ {
		next, is := below.(map[string]any)[path[there]].(map[string]any)
		if !is {
			break
		}
		below = next
	}
	for _, key := range slices.Backward(path[there+1:]) {
		value = map[string]any{key: value}
	}
	return []operation{{"add", pointer(path[:there+1]), value}} // which replaces
}

// restoring are the operations that put the field back; before nil: they remove it.
func (f Field) restoring(before any) []operation {
	if before == nil {
		return []operation{{"remove", pointer(shapes[f].path), nil}}
	}
	return []operation{{"replace", pointer(shapes[f].path), before}}
}

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	op, path string
	value    any
}

func encoded(ops []operation) ([]byte, error) {
	var all []map[string]any
	for _, o := range ops {
		one := map[string]any{"op": o.op, "path": o.path}
		if o.op != "remove" {
			one["value"] = o.value
		}
		all = append(all, one)
	}
	return json.Marshal(all)
}

// pointer is the JSON pointer (RFC 6901) of a path.
func pointer(path []string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	return b.String()
}

// same compares two values of a field. API servers leave false out.
func same(a, b any) bool {
	return reflect.DeepEqual(a, b) || a == nil && b == false || a == false && b == nil
}

// decoded is a JSON value as the API's own decoder has it: whole numbers are int64.
func decoded(raw []byte) (value any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	err = utiljson.Unmarshal(raw, &value)
	return value, err
}

// words are a value in a message.
func words(value any) string {
	if value == nil {
		return "nothing"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "a value that is no JSON"
	}
	return string(text)
}
