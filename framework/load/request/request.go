// Package request describes the requests of a lane: their method, headers and body, where the values of headers are that no record may
// have, and how the certificate of their server is verified.
//
// It sends nothing.
package request

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
)

// maxRequestBody bounds the body of a request, in bytes: a worker keeps it in memory once for each sender.
const maxRequestBody = 1 << 20

// Request is what the requests of a lane say. The zero Request is a GET without a body. Only lanes that foreign servers answer can have
// another.
type Request struct {
	Method string `json:"method,omitempty"`
	// Host is the Host header, and the name that a server's certificate must be for, if it is not the host of the target: a target
	// is an address, so that the cluster's DNS is not tested as well.
	Host    string            `json:"host,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// FromSecret are the headers whose values are in Secrets. The load worker reads them, see WithSecrets; a plan never has them.
	FromSecret map[string]SecretKey `json:"fromSecret,omitempty"`
	Body       string               `json:"body,omitempty"`
	TLS        *TLS                 `json:"tls,omitempty"`  // of an https or wss target; nil: the usual certificate authorities are trusted
	Call       *Call                `json:"call,omitempty"` // the request is a gRPC call
}

// TLS is how a server's certificate is verified.
type TLS struct {
	// CA is the certificate authorities to trust, as PEM; empty: those that this machine trusts. The image of a load worker has none, and so
	// trusts those of Mozilla, which the program brings.
	CA string `json:"ca,omitempty"`
	// Unverified trusts any certificate. It excludes CA.
	Unverified bool `json:"unverified,omitempty"`
}

// Zero reports whether the request is the usual one.
func (r Request) Zero() bool {
	return r.Method == "" && r.Host == "" && len(r.Headers) == 0 && !r.Private() && r.Body == "" && r.TLS == nil && r.Call == nil
}

// Validate returns an error for a request that no client sends.
func (r Request) Validate() error {
	seen := map[string]bool{}
	check := func(name, value string) error {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
			return fmt.Errorf("header %q is not a valid header of a request", name)
		case slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection"}, canonical):
			return fmt.Errorf("header %q is set by the client itself", name)
		case seen[canonical]:
			return fmt.Errorf("header %q is there twice", canonical)
		}
		seen[canonical] = true
		return nil
	}
	for name, value := range r.Headers {
		if err := check(name, value); err != nil {
			return err
		}
	}
	for name, from := range r.FromSecret {
		if err := errors.Join(check(name, ""), from.validate()); err != nil {
			return err
		}
	}
	switch {
	case r.Method != "" && !httpguts.ValidHeaderFieldName(r.Method): // a method is a token, as a header's name is
		return fmt.Errorf("method %q is not a valid method", r.Method)
	case r.Host != "" && (strings.ContainsAny(r.Host, "/ @") || !httpguts.ValidHostHeader(r.Host)):
		return fmt.Errorf("host %q is not a valid host", r.Host)
	case len(r.Body) > maxRequestBody:
		return fmt.Errorf("a body of %d bytes is longer than %d", len(r.Body), maxRequestBody)
	}
	if r.Call != nil {
		if err := r.Call.validate(r); err != nil {
			return err
		}
	}
	_, err := r.TLS.Config("")
	return err
}

// New is the request that a lane's requests to a target are copies of.
func (r Request) New(ctx context.Context, target string) (*http.Request, error) {
	if r.Call != nil && r.Call.Known == nil {
		return nil, fmt.Errorf("make request for %s: nothing describes method %s yet", target, r.Call.Method)
	}
	made, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodGet), target, strings.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("make request for %s: %w", target, err)
	}
	made.Header.Set("User-Agent", "holdfast")
	for name, value := range r.Headers {
		made.Header.Set(name, value)
	}
	made.Host = cmp.Or(r.Host, made.Host)
	return made, nil
}

// Config is how a client verifies certificates. The server's certificate must be for the name.
func (t *TLS) Config(name string) (*tls.Config, error) {
	c := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	switch {
	case t == nil:
		return c, nil
	case t.CA != "" && t.Unverified:
		return nil, errors.New("tls: want one of ca and unverified: with unverified, no certificate authority is asked")
	}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("the certificate authority holds no certificate in PEM")
		}
	}
	c.InsecureSkipVerify = t.Unverified // what the user asked for, and what the notes of the report say
	return c, nil
}

// ClientTLS is how the client of a valid request to a target verifies certificates: that of the server must be for the host of the
// request, or else of the target.
func (r Request) ClientTLS(target string) *tls.Config {
	name := r.Host
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		name = host
	}
	if u, err := url.Parse(target); err == nil {
		name = cmp.Or(name, u.Hostname())
	}
	c, err := r.TLS.Config(name)
	if err != nil { // it was not validated, and trusts nobody
		c = &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	}
	return c
}

// Health is the request of a gRPC health check of a service; empty: of the whole server. It is sent on a lane of HTTP/2.
func Health(service string) Request {
	message, _ := proto.Marshal(&grpc_health_v1.HealthCheckRequest{Service: service}) // a text always encodes
	return Request{Method: http.MethodPost, Body: string(frame(message)), Headers: maps.Clone(ofGRPC)}
}

// HealthPath is where it is sent to.
const HealthPath = "/grpc.health.v1.Health/Check"

// FrameHead is how many bytes come before a gRPC message: whether it is compressed, and its length.
const FrameHead = 5

func frame(message []byte) []byte {
	n := len(message)
	return append([]byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, message...)
}
