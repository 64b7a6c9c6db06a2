package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/load/unary"
)

// Call is a gRPC call of a method with one message and one answer. The message is the Body of the Request, as JSON.
type Call struct {
	Method string `json:"method"` // such as orders.v1.Orders/Get
	// Descriptors are a descriptor set that has the method; empty: the server's reflection service describes it.
	Descriptors []byte `json:"descriptors,omitempty"`
	// Known is the method, once it is described: see Resolved.
	Known *unary.Method `json:"-"`
}

// Of is the request of a call, on a lane of HTTP/2. Headers are its metadata.
func (c Call) Of(message string, headers map[string]string) Request {
	headers = maps.Clone(headers)
	if headers == nil {
		headers = map[string]string{}
	}
	maps.Copy(headers, ofGRPC)
	return Request{Method: http.MethodPost, Body: message, Headers: headers, Call: &c}
}

// ofGRPC are the headers of every gRPC request.
var ofGRPC = map[string]string{"Content-Type": "application/grpc", "Te": "trailers"}

// Path is where the call is sent to.
func (c Call) Path() string { return "/" + c.Method }

// validate returns an error if the method is none, or does not take the message. What only the server knows shows later: see Resolved.
func (c *Call) validate(r Request) error {
	for name := range r.Headers {
		if strings.HasPrefix(strings.ToLower(name), "grpc-") {
			return fmt.Errorf("header %q is set by the client itself", name)
		}
	}
	if len(c.Descriptors) == 0 {
		_, _, err := unary.Split(c.Method)
		return err
	}
	method, err := unary.FromSet(c.Descriptors, c.Method)
	if err != nil {
		return err
	}
	_, err = method.Encode(r.Body)
	return err
}

// Resolved is the request with the message of its call as it is sent to a target. If the call has no descriptors, the server at the target
// is asked for them. A request without a call stays as it is.
func (r Request) Resolved(ctx context.Context, target string) (Request, error) {
	if r.Call == nil {
		return r, nil
	}
	call := *r.Call
	var err error
	if len(call.Descriptors) > 0 {
		call.Known, err = unary.FromSet(call.Descriptors, call.Method)
	} else {
		call.Known, err = r.described(ctx, target)
	}
	if err != nil {
		return r, errors.New(r.Hide(err.Error())) // a server may repeat what it was told
	}
	message, err := call.Known.Encode(r.Body)
	if err != nil {
		return r, err
	}
	r.Call, r.Body = &call, string(frame(message))
	return r, nil
}

// described asks the server for the method of the call.
func (r Request) described(ctx context.Context, target string) (*unary.Method, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	with := maps.Clone(r.Headers)
	maps.DeleteFunc(with, func(name, _ string) bool { _, own := ofGRPC[name]; return own })
	server := unary.Server{Address: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")), Name: r.Host, Metadata: with}
	if u.Scheme == "https" {
		server.Address, server.TLS = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")), r.ClientTLS(target)
	}
	return server.Method(ctx, r.Call.Method)
}
