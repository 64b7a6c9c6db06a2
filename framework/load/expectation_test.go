package load

import (
	"io"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/check"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// A server that is not the sample backend is judged by status and content. It does not say which server it is.
func TestForeignAnswers(t *testing.T) {
	const wanted = "we are open"
	answer := func(status int, body string) script {
		return func(t *testing.T, n int, c *exchange) {
			for {
				id, more := c.request()
				if !more {
					return
				}
				if id != "" {
					t.Errorf("the request has the sample backend's header, with %q", id)
				}
				c.head(status, len(body), pod(n)...) // these headers mean nothing here
				_, _ = io.WriteString(c, body)
			}
		}
	}
	filler := strings.Repeat("x", check.MaxPartBytes-len(wanted)/2)
	long := strings.Repeat("x", 5*check.MaxPartBytes)
	tests := map[string]struct {
		serve  script
		expect expect.Answer
		want   history.Outcome
		err    string
	}{
		"any body":                   {answer(200, "hello"), expect.Answer{Status: []int{200}}, history.OK, ""},
		"no body":                    {answer(204, ""), expect.Answer{Status: []int{200, 204}}, history.OK, ""},
		"a redirect":                 {answer(302, ""), expect.Answer{Status: []int{302}}, history.OK, ""},
		"another status":             {answer(503, wanted), expect.Answer{Status: []int{200}, Contains: wanted}, history.BadStatus, "status 503"},
		"the text":                   {answer(200, "<b>"+wanted+"</b>"), expect.Answer{Status: []int{200}, Contains: wanted}, history.OK, ""},
		"another text":               {answer(200, "we are closed"), expect.Answer{Status: []int{200}, Contains: wanted}, history.WrongBody, `want a body with "we are open" in it, got "we are closed"`},
		"a long body":                {answer(200, long), expect.Answer{Status: []int{200}}, history.OK, ""},
		"the text in two parts":      {answer(200, filler+wanted+long), expect.Answer{Status: []int{200}, Contains: wanted}, history.OK, ""},
		"the text in the last part":  {answer(200, long+wanted), expect.Answer{Status: []int{200}, Contains: wanted}, history.OK, ""},
		"a long body, another text":  {answer(200, long), expect.Answer{Status: []int{200}, Contains: wanted}, history.WrongBody, "want a body with"},
		"the sample backend expects": {answer(200, "hello"), expect.Answer{}, history.WrongBody, `want "ok w/reused/0\n", got "hello"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.expect.Echo() {
				tt.serve = func(_ *testing.T, n int, c *exchange) {
					c.request()
					c.head(200, len("hello"))
					_, _ = io.WriteString(c, "hello")
					c.waits()
				}
			}
			url, _ := listen(t, tt.serve)
			l := testLane(t, Lane{Lane: history.LaneReused, Target: url, Expect: tt.expect, Rate: 1, Connections: 1, Timeouts: roomy})
			for _, r := range sendAll(t, l, 2) {
				if r.Outcome != tt.want || !strings.Contains(r.Err, tt.err) || r.Pod != "" || r.Inferred || r.Attempts != 1 {
					t.Errorf("%+v, want %s with %q", r, tt.want, tt.err)
				}
				if tt.expect.Echo() {
					break // the text names the request
				}
			}
		})
	}
}

// A masked failure of a foreign server counts, without the name of a server.
func TestForeignServersAreMasked(t *testing.T) {
	url, _ := listen(t, func(_ *testing.T, _ int, c *exchange) {
		c.request()
		c.head(200, 0)
		c.request()
		c.resets()
	})
	l := testLane(t, Lane{
		Lane: history.LaneReused, Target: url, Expect: expect.Answer{Status: []int{200}}, Rate: 1, Connections: 1, Timeouts: roomy,
	})
	r := sendAll(t, l, 2)[1]
	want := "silently sent again by the client library, because its connection ended (read: connection reset by peer)"
	if r.Outcome != history.Masked || r.Err != want || r.Pod != "" || r.Attempts != 2 {
		t.Errorf("%+v", r)
	}
}
