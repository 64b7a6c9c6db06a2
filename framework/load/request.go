package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"golang.org/x/net/http/httpguts"
)

// maxRequestBody bounds the body of a request, in bytes: a worker keeps it in memory once for each sender.
const maxRequestBody = 1 << 20

// Request is what the requests of a lane say. The zero Request is a GET without a body. Only lanes that net/http's server answers
// can have another.
type Request struct {
	Method string `json:"method,omitempty"`
	// Host is the Host header, and the name that a server's certificate must be for, if it is not the host of the target: a target
	// is an address, so that the cluster's DNS is not tested as well.
	Host    string            `json:"host,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	TLS     *TLS              `json:"tls,omitempty"` // of an https target; nil: the usual certificate authorities are trusted
}

// TLS is how a server's certificate is verified.
type TLS struct {
	// CA is the certificate authorities to trust, as PEM; empty: those that this machine trusts.
	CA string `json:"ca,omitempty"`
	// Unverified trusts any certificate.
	Unverified bool `json:"unverified,omitempty"`
}

// zero reports whether the request is the usual one.
func (r Request) zero() bool {
	return r.Method == "" && r.Host == "" && len(r.Headers) == 0 && r.Body == "" && r.TLS == nil
}

func (r Request) validate() error {
	for name, value := range r.Headers {
		switch {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
			return fmt.Errorf("header %q is not a valid header of a request", name)
		case slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection"}, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("header %q is set by the client itself", name)
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
	_, err := r.TLS.config("")
	return err
}

// config is nil where net/http's own applies. The server's certificate must be for the name.
func (t *TLS) config(name string) (*tls.Config, error) {
	c := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	if t == nil {
		return c, nil
	}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("the certificate authority holds no certificate in PEM")
		}
	}
	c.InsecureSkipVerify = t.Unverified // what the user asked for, and what the report says
	return c, nil
}

// serverName is the name that the certificate of the lane's server must be for; empty: that of the target.
func (r Request) serverName() string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return r.Host
}

// newTemplate returns the request that a lane's requests are copies of.
func newTemplate(ctx context.Context, l Lane) (*http.Request, error) {
	t := vegeta.Target{Method: http.MethodGet, URL: l.Target, Header: http.Header{}, Body: []byte(l.Request.Body)}
	if l.Request.Method != "" {
		t.Method = l.Request.Method
	}
	request, err := t.Request()
	if err != nil {
		return nil, fmt.Errorf("make request for %s: %w", l.Target, err)
	}
	request.Header.Set("User-Agent", "holdfast")
	for name, value := range l.Request.Headers {
		request.Header.Set(name, value)
	}
	if l.Request.Host != "" {
		request.Host = l.Request.Host
	}
	return request.WithContext(ctx), nil
}
