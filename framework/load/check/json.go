package check

import (
	"bytes"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
)

// maxJSONBytes is the longest body that is read as JSON: all of it is in memory, once for each sender.
const maxJSONBytes = 1 << 20

// value expects a value in a body of JSON, beside what its status expects.
type value struct {
	status
	path  *jsonpath.JSONPath
	whole []byte // earlier parts of the body
}

func newValue(s status) *value {
	path, _ := s.want.JSON.Compile() // the plan was validated
	return &value{status: s, path: path}
}

// Request implements Checker.
func (c *value) Request(k uint64) string {
	c.whole = c.whole[:0]
	return c.status.Request(k)
}

// Part implements Checker. A body that is too long is read to its end, so that the connection can be used again.
func (c *value) Part(body []byte) (keep int, err error) {
	keep, err = c.status.Part(body)
	if len(c.whole) <= maxJSONBytes {
		c.whole = append(c.whole, body[:len(body)-keep]...)
	}
	return keep, err
}

// Wrong implements Checker.
func (c *value) Wrong(body []byte) string {
	if wrong := c.status.Wrong(body); wrong != "" {
		return wrong
	}
	if len(c.whole) > 0 {
		c.whole = append(c.whole, body...)
		body = c.whole
	}
	if len(body) > maxJSONBytes {
		return fmt.Sprintf("want JSON, got a body of more than %d bytes, which is not read as JSON", maxJSONBytes)
	}
	var data any
	if err := json.Unmarshal(body, &data); err != nil {
		return "want JSON, got " + c.quoted(body)
	}
	return c.differs(data)
}

// differs describes how the value differs from the expected one; empty: it does not.
func (c *value) differs(data any) string {
	want := c.want.JSON
	found, err := find(c.path, data)
	switch {
	case err != nil:
		return fmt.Sprintf("the path %s finds no value in the JSON%s", want.Path, c.why(err))
	case want.Equals == nil || *want.Equals == string(found):
		return ""
	}
	return fmt.Sprintf("want %.100q at %s, got %s", *want.Equals, want.Path, c.quoted(found))
}

// why is the text of an error, which may quote the body.
func (c *value) why(err error) string {
	if c.private {
		return ""
	}
	return fmt.Sprintf(": %.200s", err)
}

// find is the one value at a path, as kubectl prints it.
func find(path *jsonpath.JSONPath, data any) (text []byte, err error) {
	defer func() { // the library panics on some values that a path does not fit, and a server chooses its values
		if p := recover(); p != nil {
			err = fmt.Errorf("the path does not fit it: %v", p)
		}
	}()
	results, err := path.FindResults(data)
	if err != nil {
		return nil, err
	}
	switch n := len(results[0]); {
	case n == 0:
		return nil, errors.New("there is none")
	case n > 1:
		return nil, fmt.Errorf("there are %d, and want one", n)
	}
	var b bytes.Buffer
	err = path.PrintResults(&b, results[0])
	return b.Bytes(), err
}
