package load

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// calling is the lane of a probe that calls orders.v1.Orders/Get.
func calling(t *testing.T, kind LaneKind, address, message string) Lane {
	t.Helper()
	call := request.Call{Method: "orders.v1.Orders/Get", Descriptors: loadtest.OrdersSet(t)}
	l := Lane{
		Lane: kind.Name, Target: kind.schemes()[0] + "://" + address + call.Path(), Expect: expect.Answer{Status: []int{200}},
		Request: call.Of(message, map[string]string{"X-Probe": "1"}),
	}
	if kind.Protocol == protocolH2 {
		l.Request.Host, l.Request.TLS = "example.com", &request.TLS{CA: authority(t)}
	}
	return l
}

// serveOrders serves orders.v1.Orders on a lane.
func serveOrders(t *testing.T, kind LaneKind) (address string) {
	t.Helper()
	if kind.Protocol == protocolH2 {
		return loadtest.ServeOrders(t, nil, grpc.Creds(credentials.NewTLS(identified(t, "h2"))))
	}
	return loadtest.ServeOrders(t, nil)
}

// onHTTP2 runs a test on each lane on which gRPC servers are asked.
func onHTTP2(t *testing.T, run func(*testing.T, LaneKind)) {
	t.Helper()
	for _, kind := range slices.Concat(LanesTo("http"), LanesTo("https")) {
		if kind.HTTP2() {
			t.Run(string(kind.Name), func(t *testing.T) { run(t, kind) })
		}
	}
}

// called are the rows of n calls. The lane is validated as the harness does, and the message made as the worker does.
func called(t *testing.T, l Lane, n int) []history.Request {
	t.Helper()
	l.Rate = 100
	if err := (Plan{ID: "p", Lanes: []Lane{l}}).Validate(); err != nil && !l.Request.Private() { // which has its value already
		t.Fatal(err)
	}
	var err error
	if l.Request, err = l.Request.Resolved(t.Context(), l.Target); err != nil {
		t.Fatal(err)
	}
	limits := roomy
	if l.Timeouts.Response > 0 {
		limits.Response = l.Timeouts.Response
	}
	l.Timeouts = limits
	return sendAll(t, testLane(t, l), n)
}

func TestCallsOfForeignServers(t *testing.T) { onHTTP2(t, testCallsOfForeignServers) }

func testCallsOfForeignServers(t *testing.T, kind LaneKind) {
	seven := "7"
	value := func(path string) *expect.JSON { return &expect.JSON{Path: path, Equals: &seven} }
	address := serveOrders(t, kind)
	for name, test := range map[string]struct {
		message string
		change  func(*Lane)
		want    history.Outcome
		text    string
	}{
		"answers":                  {`{"id": 7}`, nil, history.OK, ""},
		"the text":                 {`{"id": 7}`, func(l *Lane) { l.Expect.Contains = `"id":"7","state":"open"` }, history.OK, ""},
		"another text":             {`{"id": 7}`, func(l *Lane) { l.Expect.Contains = `"closed"` }, history.WrongBody, `want a body with "\"closed\"" in it, got "{\"id\":\"7\"`},
		"the value":                {`{"id": 7}`, func(l *Lane) { l.Expect.JSON = value("{.id}") }, history.OK, ""},
		"another value":            {`{"id": 8}`, func(l *Lane) { l.Expect.JSON = value("{.id}") }, history.WrongBody, `want "7" at {.id}, got "8"`},
		"a value that is not set":  {``, func(l *Lane) { l.Expect.JSON = &expect.JSON{Path: "{.openItems}"} }, history.OK, ""},
		"no such value":            {``, func(l *Lane) { l.Expect.JSON = &expect.JSON{Path: "{.total}"} }, history.WrongBody, "total is not found"},
		"a time":                   {``, func(l *Lane) { l.Expect.Contains = `"placed":"1970-01-01T00:00:01Z"` }, history.OK, ""},
		"an error":                 {`{"id": 404}`, nil, history.BadStatus, "gRPC status NOT_FOUND: no order 404: 100 % sure"},
		"an error that is good":    {`{"id": 404}`, func(l *Lane) { l.Expect.Codes = []string{"NOT_FOUND"} }, history.OK, ""},
		"an answer where an error": {`{"id": 7}`, func(l *Lane) { l.Expect.Codes = []string{"NOT_FOUND"} }, history.BadStatus, "gRPC status OK"},
		"late":                     {`{"id": 700}`, func(l *Lane) { l.Expect.Within = time.Millisecond }, history.Late, "later than 1ms"},
		"never":                    {`{"id": 900}`, quicken, history.TimeoutResponse, "the request's time-out passed"},
		"a method of others": {`{}`, func(l *Lane) {
			l.Target = strings.Replace(l.Target, "Get", "Watch", 1)
		}, history.BadStatus, "gRPC status UNIMPLEMENTED: unknown method Watch"},
	} {
		t.Run(name, func(t *testing.T) {
			l := calling(t, kind, address, test.message)
			l.Connections = 1
			if test.change != nil {
				test.change(&l)
			}
			for i, row := range called(t, l, 2) {
				reused := i > 0 && kind.Connections != PerRequest
				if row.Outcome != test.want || !strings.Contains(row.Err, test.text) || row.Addr != address || row.Attempts != 1 || row.Reused != reused {
					t.Errorf("call %d: %+v, want %s with %q", i, row, test.want, test.text)
				}
			}
		})
	}
}

// overCalls is the address of a server that misbehaves in the same way with each call.
func overCalls(t *testing.T, kind LaneKind, do func(s *h2, id uint32)) string {
	t.Helper()
	var config *tls.Config
	if kind.Protocol == protocolH2 {
		config = identified(t, "h2")
	}
	_, l := listenTLS(t, config, overH2(func(s *h2, id uint32, _ int) { do(s, id) }))
	return l.Addr().String()
}

// Servers whose answers are none of gRPC, or are cut off.
func TestCallsOfServersThatMisbehave(t *testing.T) { onHTTP2(t, testCallsOfServersThatMisbehave) }

func testCallsOfServersThatMisbehave(t *testing.T, kind LaneKind) {
	answers := func(body []byte, trailer ...string) func(*h2, uint32) {
		return func(s *h2, id uint32) {
			s.respond(id, false, ":status: 200")
			_ = s.WriteData(id, len(trailer) == 0, body)
			if len(trailer) > 0 {
				s.respond(id, true, trailer...)
			}
			s.waits()
		}
	}
	const good = "grpc-status: 0"
	for name, test := range map[string]struct {
		do   func(*h2, uint32)
		want history.Outcome
		text string
	}{
		"an order":               {answers([]byte{0, 0, 0, 0, 2, 8, 7}, good), history.OK, ""},
		"an order in two parts":  {answers(append([]byte{0, 0, 0, 1, 4, 18, 129, 2}, []byte(strings.Repeat("x", 257))...), good), history.OK, ""},
		"no status":              {answers([]byte{0, 0, 0, 0, 0}), history.WrongBody, "the answer has no gRPC status"},
		"no message":             {answers(nil, good), history.WrongBody, "want one message"},
		"half a message":         {answers([]byte{0, 0, 0, 0, 9, 8, 7}, good), history.WrongBody, "want one message"},
		"two messages":           {answers([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, good), history.WrongBody, "want one message"},
		"another message":        {answers([]byte{0, 0, 0, 0, 1, 8}, good), history.WrongBody, "want the answer of orders.v1.Orders/Get"},
		"a compressed message":   {answers([]byte{1, 0, 0, 0, 0}, good), history.WrongBody, "compressed"},
		"a status out of order":  {answers(nil, "grpc-status: many"), history.BadStatus, `gRPC status "many"`},
		"a status of the future": {answers(nil, "grpc-status: 99", "grpc-message: a%20b"), history.BadStatus, "gRPC status 99: a b"},
		"a proxy's answer":       {func(s *h2, id uint32) { s.respond(id, true, ":status: 503"); s.waits() }, history.BadStatus, "status 503"},
		"resets":                 {func(s *h2, _ uint32) { s.resets() }, history.Reset, ""},
		"closes":                 {func(*h2, uint32) {}, history.ClosedEarly, ""},
		"refuses": {func(s *h2, id uint32) {
			_ = s.WriteRSTStream(id, http2.ErrCodeInternal)
			s.waits()
		}, history.Reset, "INTERNAL_ERROR"},
		"goes away": {func(s *h2, id uint32) { _ = s.WriteGoAway(id, http2.ErrCodeNo, nil) }, history.GoAway, "GOAWAY"},
		"cuts off": {func(s *h2, id uint32) {
			s.respond(id, false, ":status: 200")
			_ = s.WriteData(id, false, []byte{0, 0, 0, 0, 2})
		}, history.Truncated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			row := called(t, calling(t, kind, overCalls(t, kind, test.do), `{"id": 7}`), 1)[0]
			if row.Outcome != test.want || !strings.Contains(row.Err, test.text) || row.Attempts != 1 {
				t.Errorf("%+v, want %s with %q", row, test.want, test.text)
			}
		})
	}
}

// What cannot be sent is refused before anything is asked.
func TestInvalidCalls(t *testing.T) {
	kind, _ := KindOf(LaneH2C)
	for name, test := range map[string]struct {
		change func(*request.Request)
		want   string
	}{
		"another message":  {func(r *request.Request) { r.Body = `{"it": 7}` }, `body: it is no orders.v1.GetRequest, which method orders.v1.Orders/Get takes: (line 1:2): unknown field "it"`},
		"another method":   {func(r *request.Request) { r.Call.Method = "orders.v1.Orders/Put" }, "it has Get, Watch"},
		"no method":        {func(r *request.Request) { r.Call = &request.Call{Method: "Get"} }, `"Get" is no method`},
		"a header of gRPC": {func(r *request.Request) { r.Headers["Grpc-Timeout"] = "1S" }, "is set by the client itself"},
		"a content type":   {func(r *request.Request) { r.Headers["content-type"] = "text/plain" }, "is there twice"},
	} {
		l := calling(t, kind, "127.0.0.1:1", `{}`)
		l.Rate = 1
		test.change(&l.Request)
		if err := (Plan{ID: "p", Lanes: []Lane{l}}).Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := calling(t, kind, "127.0.0.1:1", `{}`).Request.New(t.Context(), "http://127.0.0.1:1"); err == nil {
		t.Error("a request is made of a call whose method is not known")
	}
}

// A value of a Secret is metadata of the call, and is written down nowhere.
func TestCallsKeepSecrets(t *testing.T) { onHTTP2(t, testCallsKeepSecrets) }

func testCallsKeepSecrets(t *testing.T, kind LaneKind) {
	l := calling(t, kind, serveOrders(t, kind), `{"id": 500}`)
	l.Request.Headers["Authorization"] = "s3cret"
	for secret, want := range map[bool]string{false: "gRPC status PERMISSION_DENIED: not with s3cret", true: "gRPC status PERMISSION_DENIED: an answer that is not written down"} {
		l.Request.FromSecret = nil
		if secret {
			l.Request.FromSecret = map[string]request.SecretKey{"Authorization": {Name: "probe", Key: "token"}}
		}
		if row := called(t, l, 1)[0]; row.Outcome != history.BadStatus || !strings.HasPrefix(row.Err, want) {
			t.Errorf("%+v, want %q", row, want)
		}
	}
}
