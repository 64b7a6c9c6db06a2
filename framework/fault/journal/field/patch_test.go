package field

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// apply applies operations as an API server does.
func apply(t *testing.T, to string, ops []Operation) (string, error) {
	t.Helper()
	text, err := json.Marshal(ops)
	if err != nil {
		t.Fatal(err)
	}
	p, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	now, err := p.Apply([]byte(to))
	return string(now), err
}

// What Setting sets, Restoring puts back, but for maps that were missing on the way: they stay, and are empty.
func TestSettingAndRestoring(t *testing.T) {
	for name, test := range map[string]struct{ before, pointer, ours, set, restored string }{
		"a field": {`{"metadata":{"uid":"u"},"spec":{"replicas":3}}`, "/spec/replicas", `4`,
			`{"metadata":{"uid":"u"},"spec":{"replicas":4}}`, `{"metadata":{"uid":"u"},"spec":{"replicas":3}}`},
		"a field that is missing": {`{"metadata":{"uid":"u"},"spec":{}}`, "/spec/unschedulable", `true`,
			`{"metadata":{"uid":"u"},"spec":{"unschedulable":true}}`, `{"metadata":{"uid":"u"},"spec":{}}`},
		"a map that is missing": {`{"metadata":{"uid":"u"}}`, "/metadata/labels/example.com~1x", `"1"`,
			`{"metadata":{"uid":"u","labels":{"example.com/x":"1"}}}`, `{"metadata":{"uid":"u","labels":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			read, ours := object(t, test.before), json.RawMessage(test.ours)
			ops, err := Setting(test.pointer, ours, read)
			if err != nil {
				t.Fatal(err)
			}
			set, err := apply(t, test.before, ops)
			if err != nil || !jsonpatch.Equal([]byte(set), []byte(test.set)) {
				t.Fatalf("set: %v, %s, want %s", err, set, test.set)
			}
			was, err := Held(test.pointer, read)
			if err != nil {
				t.Fatal(err)
			}
			var before json.RawMessage
			if was != nil {
				if before, err = json.Marshal(was); err != nil {
					t.Fatal(err)
				}
			}
			if ops, err = Restoring("u", test.pointer, ours, before); err != nil {
				t.Fatal(err)
			}
			restored, err := apply(t, set, ops)
			if err != nil || !jsonpatch.Equal([]byte(restored), []byte(test.restored)) {
				t.Errorf("restored: %v, %s, want %s", err, restored, test.restored)
			}
			if again, err := apply(t, strings.Replace(set, `"uid":"u"`, `"uid":"another"`, 1), ops); err == nil {
				t.Errorf("another object was changed: %s", again)
			}
		})
	}
}

// A patch is of exactly the version that was read.
func TestPatchIsOfWhatWasRead(t *testing.T) {
	const now = `{"metadata":{"uid":"u","resourceVersion":"7"},"spec":{"replicas":3}}`
	read := object(t, strings.Replace(now, "7", "6", 1))
	ops, err := Setting("/spec/replicas", json.RawMessage(`4`), read)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]bool{"6": false, "7": true} {
		read.SetResourceVersion(version)
		body, err := Patch(read, ops)
		if err != nil {
			t.Fatal(err)
		}
		p, err := jsonpatch.DecodePatch(body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Apply([]byte(now)); (err == nil) != want {
			t.Errorf("read at version %s, patched at 7: %v", version, err)
		}
	}
}

func TestFieldsThatCannotBeSet(t *testing.T) {
	read := object(t, `{"spec":{"replicas":3,"taints":[{"key":"a"}]}}`)
	for pointer, want := range map[string]string{
		"/spec/replicas/x": "/spec/replicas is neither an object nor a list", "/spec/taints/7/key": `"7" is no index of a list of 1`,
	} {
		if _, err := Setting(pointer, json.RawMessage(`1`), read); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pointer, err, want)
		}
	}
}
