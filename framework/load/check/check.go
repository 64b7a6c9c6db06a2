// Package check tells good answers from bad ones.
//
// It reads answers, and sends nothing.
package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// MaxPartBytes is how much of a body is in memory at a time.
const MaxPartBytes = 64 << 10

// ErrLongBody is returned for a body that was not read to its end, because the expected body is shorter.
var ErrLongBody = errors.New("the body goes on after " + strconv.Itoa(MaxPartBytes) + " bytes")

// Checker judges the answers to one sender's requests.
type Checker interface {
	// Request returns the ID that request k carries; empty: none.
	Request(k uint64) (id string)
	// BadStatus describes a status that is not the expected one; empty: it is. It gets the header and, of a body that was read to its end,
	// the trailer.
	BadStatus(status int, header, trailer http.Header) string
	// Part gets MaxPartBytes of a body that goes on, and returns how many of the last bytes it wants again before the next part.
	// An error means that the body cannot be the expected one.
	Part(body []byte) (keep int, err error)
	// Wrong gets the last part of a body, and describes how the body differs from the expected one; empty: it does not.
	Wrong(body []byte) string
}

// New checks the answers to a worker's requests on a lane. Of private answers nothing is quoted: they may repeat what a request carried.
func New(want expect.Answer, asked request.Request, worker string, lane history.Lane) Checker {
	private := asked.Private()
	switch {
	case asked.Call != nil:
		return newCall(want, asked)
	case want.Echo():
		return NewEcho(worker, lane)
	case want.Serving:
		return &Health{}
	case want.JSON != nil:
		return newValue(status{want: want, private: private})
	}
	return &status{want: want, private: private}
}

// status expects a status, and possibly a text in the body.
type status struct {
	want    expect.Answer
	private bool
	found   bool // the text, in an earlier part of the body
}

// notQuoted stands in place of what a private answer says.
const notQuoted = "an answer that is not written down, because its request carries a Secret"

// quoted is the beginning of an answer, for the description of what is wrong with it.
func (c *status) quoted(answer []byte) string {
	if c.private {
		return notQuoted
	}
	return fmt.Sprintf("%.100q", answer)
}

func (c *status) Request(uint64) string {
	c.found = false
	return ""
}

// BadStatus implements Checker.
func (c *status) BadStatus(status int, _, _ http.Header) string { return notOf(c.want.Status, status) }

// notOf describes a status that is none of the expected ones.
func notOf(want []int, status int) string {
	if slices.Contains(want, status) {
		return ""
	}
	return "status " + strconv.Itoa(status)
}

func (c *status) Part(body []byte) (keep int, err error) {
	c.found = c.found || bytes.Contains(body, []byte(c.want.Contains))
	return max(0, len(c.want.Contains)-1), nil // the text may go on in the next part
}

func (c *status) Wrong(body []byte) string {
	if c.found || bytes.Contains(body, []byte(c.want.Contains)) {
		return ""
	}
	return fmt.Sprintf("want a body with %.100q in it, got %s", c.want.Contains, c.quoted(body))
}

// Echo expects the sample backend's answers: the body repeats the request's ID, and the headers name the server.
type Echo struct {
	// Want is the body of a good answer to the last request.
	Want   []byte
	prefix string
}

// NewEcho checks the answers of the sample backend.
func NewEcho(worker string, lane history.Lane) *Echo {
	return &Echo{prefix: fmt.Sprintf("ok %s/%s/", worker, lane)}
}

// Request implements Checker.
func (c *Echo) Request(k uint64) (id string) {
	c.Want = append(c.Want[:0], c.prefix...)
	c.Want = strconv.AppendUint(c.Want, k, 10)
	id = string(c.Want[len("ok "):])
	c.Want = append(c.Want, '\n')
	return id
}

// BadStatus implements Checker.
func (c *Echo) BadStatus(status int, _, _ http.Header) string {
	return notOf([]int{http.StatusOK}, status)
}

// Part implements Checker.
func (c *Echo) Part([]byte) (int, error) { return 0, ErrLongBody }

// Wrong implements Checker.
func (c *Echo) Wrong(body []byte) string {
	if bytes.Equal(body, c.Want) {
		return ""
	}
	return fmt.Sprintf("want %q, got %.100q", c.Want, body)
}

// Health expects that a gRPC health check says SERVING.
type Health struct {
	told http.Header // what tells how the last call ended
}

// Request implements Checker.
func (c *Health) Request(uint64) string {
	return ""
}

// BadStatus implements Checker.
func (c *Health) BadStatus(status int, header, trailer http.Header) string {
	c.told = ending(header, trailer)
	return notOf([]int{http.StatusOK}, status)
}

// ending is what tells how a gRPC call ended: the trailer, or the header of an answer that has nothing else.
func ending(header, trailer http.Header) http.Header {
	if len(trailer) == 0 {
		return header
	}
	return trailer
}

// Part implements Checker.
func (c *Health) Part([]byte) (int, error) { return 0, ErrLongBody }

// Wrong implements Checker.
func (c *Health) Wrong(body []byte) string {
	if code := c.told.Get("Grpc-Status"); code != "0" {
		return strings.TrimSpace(fmt.Sprintf("gRPC status %s %s", cmp.Or(code, "missing"), c.told.Get("Grpc-Message")))
	}
	var answer grpc_health_v1.HealthCheckResponse
	if len(body) < request.FrameHead || proto.Unmarshal(body[request.FrameHead:], &answer) != nil {
		return fmt.Sprintf("want the answer to a health check, got %.100q", body)
	}
	if answer.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		return "the health check says " + answer.Status.String()
	}
	return ""
}

// ReadUntil reads until a text has come, and returns how many bytes were read.
func ReadUntil(r io.Reader, text []byte) (n int64, err error) {
	var got []byte
	for part := make([]byte, 4096); ; {
		some, err := r.Read(part)
		n, got = n+int64(some), append(got, part[:some]...)
		if bytes.Contains(got, text) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if len(got) > MaxPartBytes {
			got = append([]byte{}, got[len(got)-len(text):]...) // the text may have begun
		}
	}
}
