package existing

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"
)

// Rule 4: what is sent, and what is not. The second part is an adversary's: each of these would have changed something, or told a Secret.
func TestReadOnlySends(t *testing.T) {
	const ns = "/api/v1/namespaces/shop/"
	for request, sent := range map[string]bool{
		"GET /version": true, "GET /readyz": true, "GET /openapi/v3/apis/apps/v1": true,
		"GET /api": true, "GET /api/v1": true, "GET /apis": true, "GET /apis/apps/v1": true,
		"GET /api/v1/nodes": true, "GET /api/v1/nodes/n/status": true, "GET /api/v1/namespaces": true, "GET /api/v1/namespaces/secrets": true,
		"GET /api/v1/namespaces/secrets/pods?watch=true":                                           true, // a namespace of that name
		"GET " + ns + "pods/exec":                                                                  true, // a pod of that name
		"GET " + ns + "pods/web-0/log":                                                             true,
		"GET " + ns + "configmaps/secrets":                                                         true,
		"GET /apis/argoproj.io/v1alpha1/applications":                                              true,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":                              true,
		"POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews":                               true,
		"POST /apis/authentication.k8s.io/v1/selfsubjectreviews":                                   true,
		"POST " + ns + "pods?dryRun=All":                                                           true,
		"POST " + ns + "pods/web-0/eviction?dryRun=All":                                            true,
		"PATCH /apis/apps/v1/namespaces/shop/deployments/web?dryRun=All":                           true,
		"PATCH /apis/apps/v1/namespaces/shop/deployments/web/scale?dryRun=All&x=1":                 true,
		"PUT /apis/policy/v1/namespaces/shop/poddisruptionbudgets/web?dryRun=All":                  true,
		"POST " + ns + "pods":                                                                      false,
		"PATCH " + ns + "pods/web-0":                                                               false,
		"PUT " + ns + "pods/web-0":                                                                 false,
		"DELETE " + ns + "pods/web-0":                                                              false,
		"DELETE " + ns + "pods":                                                                    false,
		"HEAD " + ns + "pods":                                                                      false,
		"OPTIONS " + ns + "pods":                                                                   false,
		"CONNECT " + ns + "pods":                                                                   false,
		"DELETE " + ns + "pods/web-0?dryRun=All":                                                   false, // a body with options would win
		"DELETE " + ns + "pods?dryRun=All":                                                         false,
		"POST " + ns + "pods?dryRun=None":                                                          false,
		"POST " + ns + "pods?dryRun=":                                                              false,
		"POST " + ns + "pods?dryrun=All":                                                           false,
		"POST " + ns + "pods?dryRun=all":                                                           false,
		"POST " + ns + "pods?dryRun=All&dryRun=None":                                               false,
		"POST " + ns + "pods?dryRun=None&dryRun=All":                                               false,
		"POST " + ns + "pods?x=dryRun%3DAll":                                                       false,
		"POST " + ns + "pods/dryRun=All":                                                           false,
		"GET " + ns + "pods/web-0/exec?command=rm":                                                 false, // a GET of exec runs a command
		"GET " + ns + "pods/web-0/attach":                                                          false,
		"GET /apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachineinstances/vm/console": false,
		"GET /apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachineinstances/vm/vnc":     false,
		"GET " + ns + "pods/web-0/portforward":                                                     false,
		"GET " + ns + "pods/web-0/proxy/delete-everything":                                         false,
		"GET " + ns + "services/web/proxy/":                                                        false,
		"GET /api/v1/nodes/n/proxy/run/shop/web-0/web":                                             false,
		"GET /api/v1/nodes/n/log":                                                                  false,
		"GET /api/v1/proxy/nodes/n":                                                                false,
		"GET /api/v1/watch/namespaces/shop/secrets":                                                false,
		"POST " + ns + "pods/web-0/exec?dryRun=All":                                                false,
		"POST " + ns + "serviceaccounts/default/token?dryRun=All":                                  false,
		"POST " + ns + "pods/web-0/binding?dryRun=All":                                             false,
		"PATCH " + ns + "pods/web-0/ephemeralcontainers?dryRun=All":                                false,
		"POST /apis/metrics.example.com/v1/namespaces/shop/things?dryRun=All":                      false, // an extension may ignore dryRun
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews":                                  false,
		"POST /apis/example.com/v1/selfsubjectreviews":                                             false,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x/run":                        false,
		"GET " + ns + "secrets":                                                                    false,
		"GET " + ns + "secrets/token":                                                              false,
		"GET " + ns + "secrets?watch=true":                                                         false,
		"GET /api/v1/secrets":                                                                      false,
		"GET /apis/example.com/v1/namespaces/shop/secrets":                                         false,
		"GET " + ns + "sec%72ets":                                                                  false, // the same word, for the API server
		"GET /api/v1/namespaces/shop%2Fsecrets":                                                    false,
		"GET /api/v1/namespaces//secrets":                                                          false,
		"GET /api/v1/namespaces/shop/pods/../secrets":                                              false,
		"POST " + ns + "secrets?dryRun=All":                                                        false,
		"GET /logs/kube-apiserver.log":                                                             false,
		"GET /debug/pprof/heap":                                                                    false,
		"GET /metrics":                                                                             false,
		"GET /":                                                                                    false,
		"POST /apis/apps/v1/namespaces/shop/deployments/web/rollback?dryRun=All":                   false,
		"POST /version":                                                                            false,
		"DELETE /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":                            false,
		"PATCH /api/v1/nodes/n?dryRun=All&fieldManager=x":                                          true,
		"PATCH /api/v1/nodes/n":                                                                    false,
		"POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All":                  false,
		"POST /apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All":                  false,
		"POST /api/v1/namespaces/shop/pods/web-0/eviction":                                         false,
		"PUT /api/v1/namespaces/shop/finalize?dryRun=All":                                          false,
	} {
		if got := passes(t, reader{}, request); got != sent {
			t.Errorf("%s: sent %t, want %t", request, got, sent)
		}
	}
}

// passes reports whether a request reaches the transport below.
func passes(t *testing.T, r reader, text string) (sent bool) {
	t.Helper()
	method, path, _ := strings.Cut(text, " ")
	request, err := http.NewRequestWithContext(t.Context(), method, "http://api.test"+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.next = sender(func(*http.Request) (*http.Response, error) {
		sent = true
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	response, err := r.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	if sent != (err == nil) {
		t.Errorf("%s: sent %t, error %v", text, sent, err)
	}
	return sent
}

type sender func(*http.Request) (*http.Response, error)

func (s sender) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// A path that is sent in place of the URL's path is not looked at, and so not sent.
func TestReadOnlyRefusesOpaqueURLs(t *testing.T) {
	request := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "api.test", Path: "/version", Opaque: "//api.test/api/v1/secrets"}}
	if why := (reader{}).refused(request); why == "" {
		t.Error("an opaque URL was not refused")
	}
}

// A proxy in front of several API servers has a path of its own.
func TestReadOnlyBehindAProxy(t *testing.T) {
	r := reader{base: "/k8s/clusters/c-1"}
	for request, sent := range map[string]bool{
		"GET /k8s/clusters/c-1/api/v1/pods":    true,
		"GET /k8s/clusters/c-1/api/v1/secrets": false,
		"GET /k8s/clusters/c-2/api/v1/pods":    false,
		"GET /api/v1/pods":                     false,
		"GET /k8s/clusters/c-1x/api/v1/pods":   false,
	} {
		if got := passes(t, r, request); got != sent {
			t.Errorf("%s: sent %t, want %t", request, got, sent)
		}
	}
	if got := basePath(&rest.Config{Host: "https://proxy.test/k8s/clusters/c-1/"}); got != r.base {
		t.Errorf("base %q, want %q", got, r.base)
	}
}

// Real clients: nothing but reads arrives, also from the client that runs commands in pods.
func TestReadOnlyClientsOnlyRead(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"ConfigMapList","apiVersion":"v1"}`))
	}))
	defer server.Close()
	config := ReadOnly(&rest.Config{Host: server.URL})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	core := client.CoreV1()
	_, patch := core.ConfigMaps("shop").Patch(t.Context(), "x", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
	_, secrets := core.Secrets("").Watch(t.Context(), metav1.ListOptions{})
	_, create := core.Pods("shop").Create(t.Context(), &corev1.Pod{}, metav1.CreateOptions{})
	for what, err := range map[string]error{
		"delete": core.ConfigMaps("shop").Delete(t.Context(), "x", metav1.DeleteOptions{DryRun: []string{"All"}}),
		"patch":  patch, "watch Secrets": secrets, "create": create, "exec": execIn(t, config, server.URL),
	} {
		if err == nil || !strings.Contains(err.Error(), "is not sent") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := core.ConfigMaps("shop").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"GET /api/v1/namespaces/shop/configmaps"}, seen); diff != "" {
		t.Errorf("requests that were sent (-want +got):\n%s", diff)
	}
}

// execIn tries to run a command in a pod, by the transport that kubectl exec uses.
func execIn(t *testing.T, config *rest.Config, server string) error {
	t.Helper()
	transport, _, err := spdy.RoundTripperFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/api/v1/namespaces/shop/pods/web-0/exec?command=rm", bytes.NewReader(nil))
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

// Rule 4, turned off: the same requests of a client that is not held to reading arrive, and a cluster that is only read would be changed, or would tell a Secret.
func TestWithoutReadOnlyEverythingArrives(t *testing.T) {
	for request, harm := range map[string]string{
		"DELETE /api/v1/namespaces/shop/pods/web-0":                       "a pod is deleted",
		"PATCH /apis/apps/v1/namespaces/shop/deployments/web":             "a Deployment is changed",
		"POST /api/v1/namespaces/shop/pods/web-0/eviction":                "a pod is evicted",
		"GET /api/v1/namespaces/shop/pods/web-0/exec?command=rm":          "a command is run",
		"GET /api/v1/namespaces/shop/secrets/db":                          "a Secret is told",
		"POST /api/v1/namespaces/shop/serviceaccounts/web/token":          "a token is made",
		"DELETE /api/v1/namespaces/shop/pods?dryRun=All":                  "all pods are deleted",
		"PUT /api/v1/namespaces/kube-system/configmaps/coredns?dryRun=No": "a ConfigMap is changed",
	} {
		arrived := 0
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived++ }))
		for readOnly, want := range map[bool]int{true: 0, false: 1} {
			config := &rest.Config{Host: server.URL}
			if readOnly {
				config = ReadOnly(config)
			}
			client, err := rest.HTTPClientFor(config)
			if err != nil {
				t.Fatal(err)
			}
			method, path, _ := strings.Cut(request, " ")
			r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			arrived = 0
			if answer, err := client.Do(r); err == nil {
				_ = answer.Body.Close()
			}
			if arrived != want {
				t.Errorf("read only: %t: %s arrives %d times (%s)", readOnly, request, arrived, harm)
			}
		}
		server.Close()
	}
}
