package existing

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// Limited is a copy of a configuration whose clients read like those of ReadOnly, and otherwise send only what is allowed, whatever they are told to
// do. Any other request fails before it is sent. What leads into a pod, such as its proxy, has to be allowed as well.
func Limited(config *rest.Config, allowed func(Permission) bool) *rest.Config {
	config = rest.CopyConfig(config)
	base := basePath(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return limited{reader{next, base}, allowed} })
	return config
}

// limited passes on what reads, and what is allowed.
type limited struct {
	reader
	allowed func(Permission) bool
}

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	if l.refused(request) == "" {
		return l.next.RoundTrip(request)
	}
	p, known := l.asked(request)
	if known && p.Resource != "secrets" && l.allowed(p) {
		return l.next.RoundTrip(request)
	}
	if request.Body != nil {
		_ = request.Body.Close() // as a RoundTripper must
	}
	if !known {
		return nil, fmt.Errorf("%s %s is not sent: holdfast does not know what it leads to", request.Method, request.URL.Path)
	}
	return nil, fmt.Errorf("%s is not sent: this command does not need it", p)
}

// asked is what the API server must permit for a request.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
func (r reader) asked(request *http.Request) (p Permission, known bool) {
	path, below := cutBase(request, r.base)
	t, is := targetOf(path)
	if !below || !is || t.resource == "" {
		return p, false
	}
	p = Permission{Group: t.group, Resource: t.resource, Subresource: t.subresource, Namespace: t.namespace, Name: t.name}
	switch request.Method {
	case http.MethodGet, http.MethodHead:
		p.Verb = "get"
	case http.MethodPost:
		p.Verb = "create"
	case http.MethodPut:
		p.Verb = "update"
	case http.MethodPatch:
		p.Verb = "patch"
	case http.MethodDelete:
		if p.Verb = "delete"; t.name == "" {
			p.Verb = "deletecollection"
		}
	default:
		return p, false
	}
	return p, true
}
