package appclone

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// ReadOnly is a copy of a configuration whose clients can only read: each request that is not a GET fails before it is sent, and so does
// each request for a Secret.
func ReadOnly(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reader{next} })
	return config
}

// reader passes on what reads.
type reader struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r reader) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return nil, fmt.Errorf("%s %s: holdfast only reads this cluster", request.Method, request.URL.Path)
	}
	for part := range strings.SplitSeq(request.URL.Path, "/") {
		if part == "secrets" {
			return nil, fmt.Errorf("%s %s: holdfast reads no Secret", request.Method, request.URL.Path)
		}
	}
	return r.next.RoundTrip(request)
}
