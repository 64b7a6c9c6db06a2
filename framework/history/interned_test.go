package history

import (
	"encoding/json"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// Equal values become one, and a copy holds nothing of the buffer that it was cut from.
func TestEqualValuesAreOne(t *testing.T) {
	var p internPool
	buffer := strings.Repeat("backend", 2)
	first, second, other := buffer[:7], buffer[7:], "gateway"
	p.Texts(&first, &second, &other)
	if first != "backend" || second != "backend" || other != "gateway" {
		t.Errorf("%q, %q, %q", first, second, other)
	}
	if unsafe.StringData(first) != unsafe.StringData(second) || unsafe.StringData(first) == unsafe.StringData(buffer) {
		t.Error("the texts are not one copy")
	}
	a, b, c := p.Set(map[string]string{"app": "x", "tier": "y"}), p.Set(map[string]string{"tier": "y", "app": "x"}), p.Set(map[string]string{"app": "xtier", "y": ""})
	if !cmp.Equal(a, map[string]string{"app": "x", "tier": "y"}) || !cmp.Equal(c, map[string]string{"app": "xtier", "y": ""}) {
		t.Errorf("%v, %v", a, c)
	}
	a["probe"] = "1"
	if b["probe"] != "1" || c["probe"] == "1" {
		t.Error("equal sets are not one, or unequal ones are")
	}
	raw := json.RawMessage(`{"a":1}`)
	one, two := p.JSON(raw), p.JSON(json.RawMessage(`{"a":1}`))
	if &one[0] != &two[0] || &one[0] == &raw[0] {
		t.Error("the messages are not one copy")
	}
	if p.Set(nil) != nil || p.JSON(nil) != nil {
		t.Error("what is not there became something")
	}
}
