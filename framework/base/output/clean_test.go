package output_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// A terminal shows what a record, a manifest, a Lease or a message has in it, and does nothing else, also where it arrives in parts.
func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\n":                        "a\tb\n",
		"häßlich ✓ 日本 🎉 @\u200bx":       "häßlich ✓ 日本 🎉 @\u200bx",
		"\x1b[31mVIOLATED\x1b[2K\rheld": `\u001b[31mVIOLATED\u001b[2K\u000dheld`,
		"\x1b]0;title\a":                `\u001b]0;title\u0007`,
		"\x1b]52;c;Y3VybA==\x07":        `\u001b]52;c;Y3VybA==\u0007`,
		"\u009b2J\u0090q\u009c":         `\u009b2J\u0090q\u009c`, // the same in C1
		"\x9b2J":                        "\ufffd2J",
		"drop\x7f\x08\x08":              `drop\u007f\u0008\u0008`,
		"txt.\u202egpj":                 `txt.\u202egpj`,
		"\u2066a\u2069\u200f\u061c":     `\u2066a\u2069\u200f\u061c`,
		"one\u2028two":                  `one\u2028two`,
		"\xff\xfe":                      "\ufffd\ufffd",
	} {
		for _, part := range []int{1, 2, 3, len(text)} {
			var out bytes.Buffer
			w := output.Clean(&out)
			for rest := []byte(text); len(rest) > 0; rest = rest[min(part, len(rest)):] {
				if n, err := w.Write(rest[:min(part, len(rest))]); err != nil || n != min(part, len(rest)) {
					t.Fatal(n, err)
				}
			}
			if out.String() != want {
				t.Errorf("%q in parts of %d: %q, want %q", text, part, &out, want)
			}
		}
	}
}

// JSON says the same after it was cleaned.
func TestCleanJSON(t *testing.T) {
	const name = "a\x1b[2J\u009b\u202eb"
	var out bytes.Buffer
	if err := json.NewEncoder(output.Clean(&out)).Encode(name); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != name {
		t.Errorf("%q, %v", back, err)
	}
}

// What another client has written stays in its line.
func TestLine(t *testing.T) {
	for text, want := range map[string]string{"a": "a", "a\nb\n": `a\nb\n`, "": "", "\n::stop-commands::t": `\n::stop-commands::t`} {
		if got := output.Line(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRaw(t *testing.T) {
	var out bytes.Buffer
	if output.Raw(output.Clean(&out)) != &out || output.Raw(&out) != &out {
		t.Error("what is written to is another writer")
	}
}
