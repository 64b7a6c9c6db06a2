package load

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// maxPartBytes is how much of a body is in memory at a time.
const maxPartBytes = 64 << 10

// errLongBody is returned for a body that was not read to its end, because the expected body is shorter.
var errLongBody = errors.New("the body goes on after " + strconv.Itoa(maxPartBytes) + " bytes")

// checker judges the answers to one sender's requests.
type checker interface {
	// request returns the ID that request k carries; empty: none.
	request(k uint64) (id string)
	goodStatus(status int) bool
	// part gets maxPartBytes of a body that goes on, and returns how many of the last bytes it wants again before the next part.
	// An error means that the body cannot be the expected one.
	part(body []byte) (keep int, err error)
	// wrong gets the last part of a body, and describes how the body differs from the expected one; empty: it does not.
	wrong(body []byte) string
}

// identifier is a checker whose answers name the server that gave them.
type identifier interface {
	identify(header http.Header) server
}

func newChecker(l *lane) checker {
	if l.Expect.Echo() {
		return newEchoChecker(l)
	}
	return &statusChecker{want: l.Expect}
}

// statusChecker expects a status, and possibly a text in the body.
type statusChecker struct {
	want  expect.Answer
	found bool // the text, in an earlier part of the body
}

func (c *statusChecker) request(uint64) string {
	c.found = false
	return ""
}

func (c *statusChecker) goodStatus(status int) bool { return slices.Contains(c.want.Status, status) }

func (c *statusChecker) part(body []byte) (keep int, err error) {
	c.found = c.found || bytes.Contains(body, []byte(c.want.Contains))
	return max(0, len(c.want.Contains)-1), nil // the text may go on in the next part
}

func (c *statusChecker) wrong(body []byte) string {
	if c.found || bytes.Contains(body, []byte(c.want.Contains)) {
		return ""
	}
	return fmt.Sprintf("want a body with %.100q in it, got %.100q", c.want.Contains, body)
}
