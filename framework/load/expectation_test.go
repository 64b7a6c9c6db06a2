package load

import (
	"io"
	"strings"
	"testing"
	"time"

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
	seven := "7"
	at := func(path string, equals *string) expect.Answer {
		return expect.Answer{Status: []int{200}, JSON: &expect.JSON{Path: path, Equals: equals}}
	}
	const list = `{"items": [{"id": 7, "name": "a"}, {"id": 8, "name": null}]}`
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
		"the value":                  {answer(200, list), at("{.items[0].id}", &seven), history.OK, ""},
		"a value of any kind":        {answer(200, list), at("{.items[1].name}", nil), history.OK, ""},
		"a value that is filtered":   {answer(200, list), at(`{.items[?(@.id==7)].id}`, &seven), history.OK, ""},
		"the value in many parts":    {answer(200, list+strings.Repeat(" ", 5*check.MaxPartBytes)), at("{.items[0].id}", &seven), history.OK, ""},
		"another value":              {answer(200, list), at("{.items[1].id}", &seven), history.WrongBody, `want "7" at {.items[1].id}, got "8"`},
		"a text and another value":   {answer(200, list), expect.Answer{Status: []int{200}, Contains: "items", JSON: at("{.items[1].id}", &seven).JSON}, history.WrongBody, `got "8"`},
		"no value":                   {answer(200, list), at("{.id}", nil), history.WrongBody, "the path {.id} finds no value in the JSON: id is not found"},
		"no such item":               {answer(200, list), at("{.items[9].id}", nil), history.WrongBody, "finds no value in the JSON: array index out of bounds"},
		"no item that fits":          {answer(200, list), at("{.items[?(@.id==9)].id}", nil), history.WrongBody, "finds no value in the JSON: there is none"},
		"two values":                 {answer(200, list), at("{.items[*].id}", nil), history.WrongBody, "finds no value in the JSON: there are 2, and want one"},
		"JSON without fields":        {answer(200, "null"), at("{.id}", nil), history.WrongBody, "the path {.id} finds no value in the JSON"},
		"a text for JSON":            {answer(200, "<html>"), at("{.id}", nil), history.WrongBody, `want JSON, got "<html>"`},
		"half a JSON":                {answer(200, list[:20]), at("{.items[0].id}", nil), history.WrongBody, "want JSON, got"},
		"JSON after JSON":            {answer(200, list+list), at("{.items[0].id}", nil), history.WrongBody, "want JSON, got"},
		"no body for JSON":           {answer(200, ""), at("{.id}", nil), history.WrongBody, `want JSON, got ""`},
		"a very long JSON":           {answer(200, list+strings.Repeat(" ", 1<<20)), at("{.items[0].id}", nil), history.WrongBody, "a body of more than 1048576 bytes"},
		"another status than JSON":   {answer(500, list), at("{.id}", nil), history.BadStatus, "status 500"},
		"in time":                    {answer(200, "hello"), expect.Answer{Status: []int{200}, Within: time.Minute}, history.OK, ""},
		"late":                       {answer(200, "hello"), expect.Answer{Status: []int{200}, Within: 1}, history.Late, "the answer came later than 1ns"},
		"wrong and late":             {answer(200, "hello"), expect.Answer{Status: []int{200}, Contains: wanted, Within: 1}, history.WrongBody, "want a body with"},
		"the sample backend expects": {answer(200, "hello"), expect.Answer{}, history.WrongBody, `want "ok w/reused/0\n", got "hello"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 2
			if tt.expect.Echo() {
				requests = 1 // the text names the request
				tt.serve = func(_ *testing.T, n int, c *exchange) {
					c.request()
					c.head(200, len("hello"))
					_, _ = io.WriteString(c, "hello")
					c.waits()
				}
			}
			url, _ := listen(t, tt.serve)
			l := testLane(t, Lane{Lane: history.LaneReused, Target: url, Expect: tt.expect, Rate: 1, Connections: 1, Timeouts: roomy})
			for _, r := range sendAll(t, l, requests) {
				if r.Outcome != tt.want || !strings.Contains(r.Err, tt.err) || r.Pod != "" || r.Inferred || r.Attempts != 1 {
					t.Errorf("%+v, want %s with %q", r, tt.want, tt.err)
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

// A server that does not answer at all is told apart from one that answers late.
func TestNoAnswerIsNotLate(t *testing.T) {
	url, _ := listen(t, func(_ *testing.T, _ int, c *exchange) {
		c.request()
		c.waits()
	})
	limits := roomy
	quickResponse(&limits)
	l := testLane(t, Lane{Lane: history.LaneReused, Target: url, Expect: expect.Answer{Status: []int{200}, Within: 1}, Rate: 1, Connections: 1, Timeouts: limits})
	if r := sendAll(t, l, 1)[0]; r.Outcome != history.TimeoutResponse {
		t.Errorf("%+v", r)
	}
}
