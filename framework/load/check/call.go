package check

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/framework/load/unary"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// maxMessageBytes is the longest answer to a call that is read, as in gRPC's own clients.
const maxMessageBytes = 4 << 20

// call expects a status of a gRPC call, and possibly a text or a value in its answer as JSON.
type call struct {
	want    expect.Answer
	private bool
	method  *unary.Method
	answer  Checker // of the JSON
	told    http.Header
	whole   []byte // earlier parts of the body
	long    bool   // it has more than maxMessageBytes
}

func newCall(want expect.Answer, asked request.Request) *call {
	as := status{want: want, private: asked.Private()}
	c := &call{want: want, private: as.private, method: asked.Call.Known, answer: &as}
	if want.JSON != nil {
		c.answer = newValue(as)
	}
	return c
}

// Request implements Checker.
func (c *call) Request(k uint64) string {
	c.whole, c.long = c.whole[:0], false
	return c.answer.Request(k)
}

// BadStatus implements Checker. An answer that is cut off has no status of gRPC: how it was cut off says more.
func (c *call) BadStatus(status int, header, trailer http.Header) string {
	if status != http.StatusOK {
		return notOf(c.want.Status, status)
	}
	c.told = ending(header, trailer)
	if c.told.Get(statusHeader) == "" || slices.Contains(c.codes(), c.code()) {
		return ""
	}
	bad := "gRPC status " + c.code()
	if message := c.told.Get("Grpc-Message"); message != "" && c.private {
		bad += ": " + notQuoted
	} else if message != "" {
		bad += fmt.Sprintf(": %.200s", unescaped(message))
	}
	return bad
}

const statusHeader = "Grpc-Status"

// codes are the expected ones.
func (c *call) codes() []string {
	if len(c.want.Codes) == 0 {
		return []string{expect.OK}
	}
	return c.want.Codes
}

// code is the name of the status of the last answer.
func (c *call) code() string {
	told := c.told.Get(statusHeader)
	if n, err := strconv.ParseInt(told, 10, 32); err == nil {
		return cmp.Or(expect.CodeName(int32(n)), told)
	}
	return fmt.Sprintf("%.20q", told)
}

// unescaped is a message as it was before it was made a header.
func unescaped(message string) string {
	if text, err := url.PathUnescape(message); err == nil {
		return text
	}
	return message
}

// Part implements Checker. An answer that is too long is read to its end, so that the call ends in order.
func (c *call) Part(body []byte) (keep int, err error) {
	if c.long = c.long || len(c.whole)+len(body) > maxMessageBytes; !c.long {
		c.whole = append(c.whole, body...)
	}
	return 0, nil
}

// Wrong implements Checker.
func (c *call) Wrong(body []byte) string {
	if len(c.whole) > 0 {
		c.whole = append(c.whole, body...)
		body = c.whole
	}
	switch n := request.FrameHead; {
	case c.told.Get(statusHeader) == "":
		return "the answer has no gRPC status"
	case c.code() != expect.OK: // and was expected
		return ""
	case c.long || len(body) > maxMessageBytes:
		return fmt.Sprintf("want one message, got more than %d bytes", maxMessageBytes)
	case len(body) < n || int(binary.BigEndian.Uint32(body[1:n])) != len(body)-n:
		return "want one message, got " + c.quoted(body)
	case body[0] != 0:
		return "the message is compressed, although the request does not say that it may be"
	}
	text, err := c.method.Decode(body[request.FrameHead:])
	if err != nil {
		return strings.TrimSuffix("want the answer of "+c.method.String()+", got "+c.quoted(body[request.FrameHead:])+": "+c.why(err), ": ")
	}
	return c.answer.Wrong(text)
}

// quoted is the beginning of an answer, for the description of what is wrong with it.
func (c *call) quoted(answer []byte) string { return (&status{private: c.private}).quoted(answer) }

// why is the text of an error, which may quote the answer.
func (c *call) why(err error) string {
	if c.private {
		return ""
	}
	return err.Error()
}
