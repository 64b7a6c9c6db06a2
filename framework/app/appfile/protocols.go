package appfile

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/framework/load/unary"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// Call names a gRPC method.
type Call struct{ Method string }

// UnmarshalYAML reads PACKAGE.SERVICE/METHOD.
func (c *Call) UnmarshalYAML(n *yaml.Node) error {
	c.Method = strings.TrimPrefix(n.Value, "/")
	if _, _, err := unary.Split(c.Method); err != nil {
		return fmt.Errorf("line %d, column %d: call: %w", n.Line, n.Column, err)
	}
	return nil
}

// Status is a status of HTTP, or of gRPC.
type Status struct {
	http         int
	code         string
	line, column int
}

// UnmarshalYAML reads a number such as 200, or a name such as NOT_FOUND.
func (s *Status) UnmarshalYAML(n *yaml.Node) (err error) {
	s.line, s.column = n.Line, n.Column
	if s.http, err = strconv.Atoi(n.Value); err == nil && s.http >= 200 && s.http <= 599 {
		return nil
	}
	if s.http, s.code = 0, n.Value; !slices.Contains(expect.CodeNames(), s.code) {
		return fmt.Errorf("line %d, column %d: status %q: want 200 to 599, or with call one of %s", n.Line, n.Column, n.Value, strings.Join(expect.CodeNames(), ", "))
	}
	return nil
}

func (s Status) String() string {
	if s.code != "" {
		return s.code
	}
	return strconv.Itoa(s.http)
}

// under makes the paths of files below a folder.
func (p *Probe) under(folder string) {
	paths := []*string{&p.Descriptors}
	if p.TLS != nil {
		paths = append(paths, &p.TLS.CA)
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(folder, *path)
		}
	}
}

// grpcServer is the URL of the probe's gRPC server.
func (p Probe) grpcServer() string {
	if p.TLS != nil {
		return "https://" + p.GRPC
	}
	return "http://" + p.GRPC
}

// call is the probe of a gRPC server by a method. A file with descriptors is read, and shows whether the body is a message of the method.
func (p Probe) call(n int) (made apptest.Probe, err error) {
	if p.Method != "" || p.Service != "" {
		return made, fmt.Errorf("probe %d: a gRPC call has no HTTP method, and no service of the health service", n+1)
	}
	call := request.Call{Method: p.Call.Method}
	if p.Descriptors != "" {
		set, err := os.ReadFile(p.Descriptors)
		if err != nil {
			return made, fmt.Errorf("probe %d: descriptors: %w", n+1, err)
		}
		method, err := unary.FromSet(set, call.Method)
		if err == nil {
			_, err = method.Encode(p.Body)
		}
		if err == nil {
			call.Descriptors, err = method.Set()
		}
		if err != nil {
			return made, fmt.Errorf("probe %d: call %s, described by %s: %w", n+1, call.Method, p.Descriptors, err)
		}
	}
	made = apptest.OfCall(p.grpcServer(), call, p.Body, texts(p.Headers), n)
	made.Expect, err = p.Expect.answer(true)
	return made, err
}

// socket reports whether the probe's URL is that of a WebSocket.
func (p Probe) socket() bool {
	return strings.HasPrefix(p.URL, "ws:") || strings.HasPrefix(p.URL, "wss:")
}

// webSocket is the probe of a WebSocket.
func (p Probe) webSocket(n int) (made apptest.Probe, err error) {
	if p.Method != "" || p.Body != "" || len(p.Expect.Status) > 0 {
		return made, fmt.Errorf("probe %d: a WebSocket has no method, body or status: its message is send, and expect is about the answer's text", n+1)
	}
	for name := range p.Headers {
		if own := http.CanonicalHeaderKey(name); slices.Contains([]string{"Upgrade", "Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions"}, own) {
			return made, fmt.Errorf("probe %d: header %s is set by the client itself", n+1, name)
		}
	}
	made = apptest.OfURL(p.URL, n)
	made.Request = request.Request{Headers: texts(p.Headers), Body: p.Send}
	if err := p.offer(&made.Request); err != nil {
		return made, fmt.Errorf("probe %d: %w", n+1, err)
	}
	made.Expect, err = p.Expect.answer(false)
	return made, err
}

// subprotocols is the header that offers them.
const subprotocols = "Sec-WebSocket-Protocol"

// offer adds the subprotocols to the request that opens a WebSocket.
func (p Probe) offer(r *request.Request) error {
	if len(p.Subprotocols) == 0 {
		return nil
	}
	for name := range p.Headers {
		if strings.EqualFold(name, subprotocols) {
			return fmt.Errorf("want one of subprotocols and header %s", name)
		}
	}
	for i, one := range p.Subprotocols {
		if !httpguts.ValidHeaderFieldName(one) || slices.Contains(p.Subprotocols[:i], one) { // a subprotocol is a token, as a header's name is
			return fmt.Errorf("subprotocol %q is no token, or is there twice", one)
		}
	}
	if r.Headers == nil {
		r.Headers = map[string]string{}
	}
	r.Headers[subprotocols] = strings.Join(p.Subprotocols, ", ")
	return nil
}
