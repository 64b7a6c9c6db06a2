package existing

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// A limited client reads, and writes what is allowed: an object of that name, by that verb, and no other. Secrets and unknown paths are never reached.
func TestLimited(t *testing.T) {
	const pods = "/api/v1/namespaces/shop/pods"
	allowed := func(p Permission) bool {
		return p == Permission{Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: "shop", Name: "web-1"} ||
			p == Permission{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "shop", Name: "web"} ||
			p.Namespace == "holdfast" && (p.Resource == "pods" && p.Subresource == "proxy" || p.Resource == "secrets")
	}
	var arrived []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived = append(arrived, r.Method+" "+r.URL.Path) }))
	t.Cleanup(server.Close)
	client, err := rest.HTTPClientFor(Limited(&rest.Config{Host: server.URL}, allowed))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		request string
		sent    bool
	}{
		{"GET " + pods, true},
		{"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true},
		{"POST " + pods + "?dryRun=All", true},
		{"POST " + pods + "/web-1/eviction", true},
		{"POST " + pods + "/web-2/eviction", false},
		{"POST /api/v1/namespaces/mail/pods/web-1/eviction", false},
		{"DELETE " + pods + "/web-1", false},
		{"DELETE " + pods, false},
		{"PATCH /apis/apps/v1/namespaces/shop/deployments/web/scale", true},
		{"PUT /apis/apps/v1/namespaces/shop/deployments/web/scale", false},
		{"PATCH /apis/apps/v1/namespaces/shop/deployments/web", false},
		{"GET /api/v1/namespaces/holdfast/pods/load-0:8080/proxy/status", true},
		{"PUT /api/v1/namespaces/holdfast/pods/load-0:8080/proxy/plan", true},
		{"GET /api/v1/namespaces/shop/pods/web-1/proxy/", false},
		{"GET /api/v1/namespaces/holdfast/secrets/x", false},
		{"PUT /api/v1/namespaces/holdfast/secrets/x", false},
		{"POST /elsewhere", false},
		{"OPTIONS " + pods, false},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		before := len(arrived)
		response, err := client.Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		if sent := len(arrived) > before; sent != test.sent || sent == (err != nil) {
			t.Errorf("%s: sent %t, want %t; %v", test.request, sent, test.sent, err)
		}
	}
}
