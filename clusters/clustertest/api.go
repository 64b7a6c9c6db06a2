package clustertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strconv"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// Object is what the API server stores.
type Object interface {
	metav1.Object
	runtime.Object
}

// API is an API server in memory with its controllers. Clients reach it through RoundTrip, without a network: real clients
// work with it, also in a synctest bubble. Change the exported fields before the first request, or from Refuse and Sent.
type API struct {
	mu      sync.Mutex
	version int
	objects map[string]Object // by path
	changes []change
	changed chan struct{} // closed by the next change
	hung    chan struct{} // closed by the next HangUp
	asked   []string

	hooks sync.Mutex // held while a hook is called

	// Refuse answers in the server's place, unless it returns nil. Hooks are called for one request at a time. They may read
	// the server with Get and List, and must not send requests to it.
	Refuse func(method, path string) *apierrors.StatusError
	// Sent is called with each request that has a body.
	Sent func(method, path, body string)
	// Warn is the text of the Warning header of an answer.
	Warn func(method, path string) string
	// May says what the user may do; nil: everything. Only questions about permissions are answered by it: see Refuse.
	May func(authorizationv1.ResourceAttributes) bool
	// Crowd makes the scheduler bind every pod to the same node. Keep prevents the deletion of namespaces and Services.
	Crowd, Keep bool
	// Frozen stops every controller, the scheduler and the kubelets: objects are stored, and nothing follows from them.
	Frozen bool
	// Deaf makes the server accept every write and store none.
	Deaf bool
	// Owners makes the server keep the managed fields of objects that are created or patched.
	Owners bool
	// PodURL is the URL of the server behind the pods' proxy subresource. Empty means that no pod serves.
	PodURL string
}

type change struct {
	collection string
	version    int
	what       watch.EventType
	object     json.RawMessage
}

// NewAPI is an API server without objects.
func NewAPI() *API {
	return &API{objects: map[string]Object{}, changed: make(chan struct{}), hung: make(chan struct{})}
}

// Config reaches the server through RoundTrip, without a rate limit.
func (a *API) Config() *rest.Config {
	return &rest.Config{Host: "http://api.test", Transport: a, QPS: -1}
}

// RoundTrip implements http.RoundTripper.
func (a *API) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if head, tail, ok := strings.Cut(r.URL.Path, "/proxy"); ok && strings.Contains(head, "/pods/") {
		return a.proxied(r, tail)
	}
	no, err := a.askHooks(r)
	if err != nil {
		return nil, err
	}
	if no == nil {
		if answer := a.aboutSelf(r); answer != nil {
			return answered(http.StatusOK, answer), nil
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Method != http.MethodGet && path.Base(r.URL.Path) != "holdfast-echo" && !dry(r) {
		a.asked = append(a.asked, r.Method+" "+r.URL.Path)
	}
	if no != nil {
		return answered(refusal(no)), nil
	}
	if list := discovered(r.URL.Path); list != nil {
		return answered(http.StatusOK, list), nil
	}
	if r.URL.Query().Get("watch") != "" {
		return a.watch(r), nil
	}
	answer := answered(a.serve(r))
	if a.Warn != nil {
		if text := a.Warn(r.Method, r.URL.Path); text != "" {
			answer.Header.Add("Warning", fmt.Sprintf("299 - %q", text))
		}
	}
	return answer, nil
}

// askHooks calls Sent and Refuse, for one request at a time.
func (a *API) askHooks(r *http.Request) (*apierrors.StatusError, error) {
	a.hooks.Lock()
	defer a.hooks.Unlock()
	if a.Sent != nil && r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		a.Sent(r.Method, r.URL.Path, string(text))
	}
	if a.Refuse == nil {
		return nil, nil
	}
	return a.Refuse(r.Method, r.URL.Path), nil
}

// proxied forwards a request to PodURL.
func (a *API) proxied(r *http.Request, tail string) (*http.Response, error) {
	if a.PodURL == "" {
		return answered(http.StatusServiceUnavailable, "no endpoints available for the pod"), nil
	}
	to, err := url.Parse(a.PodURL + tail)
	if err != nil {
		return nil, err
	}
	to.RawQuery = r.URL.RawQuery
	r = r.Clone(r.Context())
	r.URL, r.Host, r.RequestURI = to, to.Host, ""
	return http.DefaultTransport.RoundTrip(r)
}

func answered(status int, body any) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)),
	}
}

// serve answers every request but watches. The caller holds the lock.
func (a *API) serve(r *http.Request) (status int, body any) {
	at := r.URL.Path
	if r.Method == http.MethodPatch {
		at = strings.TrimSuffix(at, "/status") // a part of the object, which may change alone
	}
	if a.Deaf && r.Method != http.MethodGet {
		return a.ignore(r)
	}
	_, isCollection := apiResources[path.Base(at)]
	if of := a.scaled(r); of != "" {
		return a.serveScale(r, of)
	}
	switch {
	case r.Method == http.MethodGet && isCollection:
		return http.StatusOK, a.list(at, r.URL.Query().Get("labelSelector"))
	case r.Method == http.MethodGet && a.objects[at] != nil:
		return http.StatusOK, a.objects[at]
	case r.Method == http.MethodPost && isCollection:
		object, err := decoded(r.Body)
		if err != nil {
			return refusal(apierrors.NewBadRequest(err.Error()))
		}
		if object.GetName() == "" {
			object.SetName(object.GetGenerateName() + strconv.Itoa(a.version))
		}
		if a.objects[path.Join(at, object.GetName())] != nil {
			return refusal(apierrors.NewAlreadyExists(schema.GroupResource{Resource: path.Base(at)}, object.GetName()))
		}
		if a.Owners {
			if object, err = owned(reflect.New(reflect.TypeOf(object).Elem()).Interface().(Object), object, managerOf(r), ""); err != nil {
				return refusal(apierrors.NewBadRequest(err.Error()))
			}
		}
		if dry(r) {
			return http.StatusCreated, object
		}
		a.put(at, object)
		a.control()
		return http.StatusCreated, object
	case r.Method == http.MethodPut && a.objects[at] != nil:
		return a.replace(r, at)
	case r.Method == http.MethodPatch && a.objects[at] != nil:
		return a.patch(r, at)
	case r.Method == http.MethodPost && path.Base(at) == "eviction" && a.objects[path.Dir(at)] != nil,
		r.Method == http.MethodDelete && (isCollection || a.objects[at] != nil):
		if o := a.objects[strings.TrimSuffix(at, "/eviction")]; unmet(demands(r), o) {
			return refusal(apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("the preconditions are not met")))
		}
		for _, gone := range a.chosen(strings.TrimSuffix(at, "/eviction"), isCollection) {
			a.remove(gone)
		}
		a.control()
		return http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}
	}
	return refusal(apierrors.NewNotFound(schema.GroupResource{Resource: path.Base(path.Dir(at))}, path.Base(at)))
}

// dry reports whether a request only asks what would come of it. The server knows that of creations.
func dry(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Get("dryRun") == metav1.DryRunAll
}

// ignore answers a write as if it had been done.
func (a *API) ignore(r *http.Request) (status int, body any) {
	if there := a.objects[r.URL.Path]; there != nil && r.Method != http.MethodDelete {
		return http.StatusOK, there
	}
	if r.Method != http.MethodPost {
		return http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}
	}
	object, err := decoded(r.Body)
	if err != nil {
		return refusal(apierrors.NewBadRequest(err.Error()))
	}
	return http.StatusCreated, object
}

func refusal(no *apierrors.StatusError) (status int, body any) {
	no.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return int(no.ErrStatus.Code), no.ErrStatus
}
