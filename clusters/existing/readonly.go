package existing

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
)

// ReadOnly is a copy of a configuration whose clients can only read, whatever they are told to do. A request that could change anything fails
// before it is sent, and so does each request about a Secret. Sent are:
//
//   - GET requests: get, list and watch. Not those that lead into a pod or a node (exec, attach, portforward, proxy), because a GET of exec
//     runs a command.
//   - Questions about the user: SelfSubjectReview, SelfSubjectAccessReview, SelfSubjectRulesReview.
//   - Dry runs that create or change objects of Kubernetes' own kinds. A dry run of a DELETE is not sent: the API server ignores the query's
//     dryRun where the request has a body. Neither are dry runs of other kinds: the API server of an extension may ignore dryRun.
func ReadOnly(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	base := basePath(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reader{next, base} })
	return config
}

// basePath is the part of all paths that belongs to a proxy in front of the API server, such as /k8s/clusters/c-1; empty: there is none.
func basePath(config *rest.Config) string {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "" // clients of such a configuration cannot be made
	}
	return strings.TrimSuffix(server.Path, "/")
}

// reader passes on what reads.
type reader struct {
	next http.RoundTripper
	base string
}

// RoundTrip implements http.RoundTripper.
func (r reader) RoundTrip(request *http.Request) (*http.Response, error) {
	if why := r.refused(request); why != "" {
		if request.Body != nil {
			_ = request.Body.Close() // as a RoundTripper must
		}
		return nil, fmt.Errorf("%s %s is not sent: %s", request.Method, request.URL.Path, why)
	}
	return r.next.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the transport below.
func (r reader) WrappedRoundTripper() http.RoundTripper { return r.next }

// refused is why a request is not sent; empty: it only reads.
func (r reader) refused(request *http.Request) string {
	const readsOnly = "holdfast only reads this cluster"
	path, below := cutBase(request, r.base)
	t, known := targetOf(path)
	switch {
	case !known || !below:
		return "holdfast does not know what it leads to"
	case t.resource == "secrets":
		return "holdfast reads no Secret"
	case slices.Contains(inside, t.subresource) || t.resource == "nodes" && t.subresource != "" && t.subresource != "status":
		return "holdfast enters no pod and no node of this cluster"
	case request.Method == http.MethodGet:
		return ""
	case request.Method == http.MethodPost && t.aboutSelf():
		return ""
	case dryRun(request) && t.triable():
		return ""
	}
	return readsOnly
}

// cutBase is the path of a request without a part that belongs to a proxy; ok is false if another path would be sent.
func cutBase(request *http.Request, base string) (path string, ok bool) {
	path, below := strings.CutPrefix(request.URL.Path, base)
	return path, below && request.URL.Opaque == "" // which would be sent in place of the path
}

// inside are the subresources that lead into a pod or past the API server.
var inside = []string{"exec", "attach", "portforward", "proxy", "console", "vnc", "usbredir", "vsock"} // the last four lead into virtual machines of KubeVirt

// target is what a request is about.
type target struct {
	group, namespace, resource, name, subresource string
}

// outside are the paths that are about no object, and only tell something.
var outside = []string{"version", "openapi", "healthz", "livez", "readyz"}

// targetOf parses a path as the API server does.
//
// Source: k8s.io/apiserver/pkg/endpoints/request, RequestInfoFactory.NewRequestInfo
func targetOf(path string) (t target, known bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case slices.Contains(parts, ""), slices.Contains(parts, "."), slices.Contains(parts, ".."):
		return t, false
	case slices.Contains(outside, parts[0]):
		return t, true
	case parts[0] == "api" && len(parts) <= 2, parts[0] == "apis" && len(parts) <= 3: // discovery
		return t, true
	case parts[0] == "api":
		parts = parts[2:]
	case parts[0] == "apis":
		t.group, parts = parts[1], parts[3:]
	default:
		return t, false
	}
	if parts[0] == "watch" || parts[0] == "proxy" || parts[0] == "redirect" { // older forms of requests, which no client of ours sends
		return t, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	return t, true
}

// aboutSelf reports whether creating the object only asks something about the user.
func (t target) aboutSelf() bool {
	switch t.group {
	case "authorization.k8s.io":
		return t.name == "" && (t.resource == "selfsubjectaccessreviews" || t.resource == "selfsubjectrulesreviews")
	case "authentication.k8s.io":
		return t.name == "" && t.resource == "selfsubjectreviews"
	}
	return false
}

// builtIn are the groups whose objects the API server itself keeps: of them a dry run is one.
var builtIn = []string{"", "apps", "autoscaling", "batch", "coordination.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io"}

// triable reports whether a dry run of a write leaves everything as it is. A dry run may change the scale of a workload and evict a pod. Other
// subresources are actions, such as making a token.
func (t target) triable() bool {
	return slices.Contains(builtIn, t.group) && slices.Contains([]string{"", "scale", "status", "eviction"}, t.subresource)
}

// dryRun reports whether the API server will only say what a write would do.
//
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
func dryRun(request *http.Request) bool {
	switch request.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return slices.Equal(request.URL.Query()["dryRun"], []string{"All"})
	}
	return false
}
