package clustertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
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
	asked   []string

	hooks sync.Mutex // held while a hook is called

	// Refuse answers in the server's place, unless it returns nil. Hooks are called for one request at a time. They may read
	// the server with Get and List, and must not send requests to it.
	Refuse func(method, path string) *apierrors.StatusError
	// Sent is called with each request that has a body.
	Sent func(method, path, body string)
	// Warn is the text of the Warning header of an answer.
	Warn func(method, path string) string
	// Crowd makes the scheduler bind every pod to the same node. Keep prevents the deletion of namespaces and Services.
	Crowd, Keep bool
	// Frozen stops every controller, the scheduler and the kubelets: objects are stored, and nothing follows from them.
	Frozen bool
	// Deaf makes the server accept every write and store none.
	Deaf bool
	// PodURL is the URL of the server behind the pods' proxy subresource. Empty means that no pod serves.
	PodURL string
}

type change struct {
	collection string
	version    int
	what       watch.EventType
	object     json.RawMessage
}

// apiResources are the resources that the server knows, by their path below a group's version.
var apiResources = map[string]struct{ groupVersion, kind string }{
	"namespaces": {"v1", "Namespace"}, "nodes": {"v1", "Node"}, "pods": {"v1", "Pod"}, "services": {"v1", "Service"},
	"serviceaccounts": {"v1", "ServiceAccount"}, "events": {"v1", "Event"}, "deployments": {"apps/v1", "Deployment"},
	"daemonsets":           {"apps/v1", "DaemonSet"},
	"statefulsets":         {"apps/v1", "StatefulSet"},
	"endpointslices":       {"discovery.k8s.io/v1", "EndpointSlice"},
	"poddisruptionbudgets": {"policy/v1", "PodDisruptionBudget"},
	"leases":               {"coordination.k8s.io/v1", "Lease"},
	"configmaps":           {"v1", "ConfigMap"},
	"clusterroles":         {"rbac.authorization.k8s.io/v1", "ClusterRole"},
	"clusterrolebindings":  {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"},
	"roles":                {"rbac.authorization.k8s.io/v1", "Role"},
	"rolebindings":         {"rbac.authorization.k8s.io/v1", "RoleBinding"},
}

// NewAPI is an API server without objects.
func NewAPI() *API { return &API{objects: map[string]Object{}, changed: make(chan struct{})} }

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
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Method != http.MethodGet && path.Base(r.URL.Path) != "holdfast-echo" {
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

// discovered answers a request of the discovery API. It returns nil for every other path.
func discovered(path string) any {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, known := range apiResources {
			if group, version, grouped := strings.Cut(known.groupVersion, "/"); grouped {
				v := metav1.GroupVersionForDiscovery{GroupVersion: known.groupVersion, Version: version}
				list.Groups = append(list.Groups, metav1.APIGroup{
					Name: group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
				})
			}
		}
		return list
	case path == "/api/v1", len(parts) == 3 && parts[0] == "apis":
		groupVersion := strings.Join(parts[1:], "/")
		list := metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion,
		}
		for name, known := range apiResources {
			if known.groupVersion == groupVersion {
				namespaced := name != "nodes" && name != "namespaces" && !strings.HasPrefix(name, "cluster")
				list.APIResources = append(list.APIResources, metav1.APIResource{
					Name: name, Kind: known.kind, Namespaced: namespaced, Verbs: metav1.Verbs{"list", "delete"},
				})
			}
		}
		return list
	}
	return nil
}

// serve answers every request but watches. The caller holds the lock.
func (a *API) serve(r *http.Request) (status int, body any) {
	at := r.URL.Path
	if a.Deaf && r.Method != http.MethodGet {
		return a.ignore(r)
	}
	_, isCollection := apiResources[path.Base(at)]
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
		if a.objects[path.Join(at, object.GetName())] != nil {
			return refusal(apierrors.NewAlreadyExists(schema.GroupResource{Resource: path.Base(at)}, object.GetName()))
		}
		a.put(at, object)
		a.control()
		return http.StatusCreated, object
	case r.Method == http.MethodPatch && a.objects[at] != nil:
		object, err := patched(a.objects[at], r.Body)
		if err != nil {
			return refusal(apierrors.NewBadRequest(err.Error()))
		}
		a.put(path.Dir(at), object)
		return http.StatusOK, object
	case r.Method == http.MethodPost && path.Base(at) == "eviction",
		r.Method == http.MethodDelete && (isCollection || a.objects[at] != nil):
		for _, gone := range a.chosen(strings.TrimSuffix(at, "/eviction"), isCollection) {
			a.remove(gone)
		}
		a.control()
		return http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}
	}
	return refusal(apierrors.NewNotFound(schema.GroupResource{Resource: path.Base(path.Dir(at))}, path.Base(at)))
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

func decoded(body io.Reader) (Object, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	return object.(Object), nil
}

// patched returns the object with a JSON merge patch applied.
func patched(object Object, patch io.Reader) (Object, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var was, change map[string]any
	if err := errors.Join(json.Unmarshal(text, &was), json.NewDecoder(patch).Decode(&change)); err != nil {
		return nil, err
	}
	merge(was, change)
	if text, err = json.Marshal(was); err != nil {
		return nil, err
	}
	now := reflect.New(reflect.TypeOf(object).Elem()).Interface().(Object)
	return now, json.Unmarshal(text, now)
}

// merge applies a JSON merge patch: null removes a key.
func merge(was, change map[string]any) {
	for key, value := range change {
		below, isMap := value.(map[string]any)
		there, wasMap := was[key].(map[string]any)
		switch {
		case value == nil:
			delete(was, key)
		case isMap && wasMap:
			merge(there, below)
		default:
			was[key] = value
		}
	}
}

// chosen are the paths of the objects that a path means: one object, or a whole collection.
func (a *API) chosen(at string, isCollection bool) (paths []string) {
	for _, p := range slices.Sorted(maps.Keys(a.objects)) {
		if p == at && !isCollection || path.Dir(p) == at && isCollection {
			paths = append(paths, p)
		}
	}
	return paths
}

func (a *API) list(collection, selector string) any {
	chosen, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	items := []Object{}
	for _, p := range a.chosen(collection, true) {
		if o := a.objects[p]; chosen.Matches(labels.Set(o.GetLabels())) {
			items = append(items, o)
		}
	}
	known := apiResources[path.Base(collection)]
	return map[string]any{
		"apiVersion": known.groupVersion, "kind": known.kind + "List",
		"metadata": map[string]string{"resourceVersion": strconv.Itoa(a.version)}, "items": items,
	}
}

// put stores an object and notifies the watches.
func (a *API) put(collection string, o Object) {
	at, what := path.Join(collection, o.GetName()), watch.Modified
	if a.objects[at] == nil {
		what = watch.Added
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		panic(err)
	}
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
	if o.GetUID() == "" {
		o.SetUID(types.UID("uid-" + strconv.Itoa(a.version)))
	}
	a.objects[at] = o
	a.tell(collection, what, o)
}

// remove deletes an object, unless Keep prevents it. A namespace is deleted when its pods are gone.
func (a *API) remove(at string) {
	o := a.objects[at]
	if ns, ok := o.(*corev1.Namespace); ok {
		ns.Status.Phase = corev1.NamespaceTerminating
		a.put(path.Dir(at), ns)
		return
	}
	if _, ok := o.(*corev1.Service); ok && a.Keep {
		return
	}
	delete(a.objects, at)
	a.tell(path.Dir(at), watch.Deleted, o)
}

func (a *API) tell(collection string, what watch.EventType, o Object) {
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	a.changes = append(a.changes, change{collection, a.version, what, text})
	close(a.changed)
	a.changed = make(chan struct{})
}

// watch streams the changes of a collection since a version, until the request ends.
func (a *API) watch(r *http.Request) *http.Response {
	since, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		panic(err)
	}
	body, out := io.Pipe()
	go func() {
		defer func() { _ = out.Close() }()
		next := 0
		for {
			a.mu.Lock()
			fresh, changed := a.changes[next:], a.changed
			next = len(a.changes)
			a.mu.Unlock()
			for _, c := range fresh {
				if c.collection != r.URL.Path || c.version <= since {
					continue
				}
				if json.NewEncoder(out).Encode(map[string]any{"type": c.what, "object": c.object}) != nil {
					return
				}
			}
			select {
			case <-changed:
			case <-r.Context().Done():
				return
			}
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

// Put stores an object as an administrator or a kubelet would, and notifies the watches. No controller acts on it before the
// next request that changes something.
func (a *API) Put(collection string, o Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put(collection, o)
}

// Get is the stored object at a path, or nil. The caller must not change it; see Edit.
func (a *API) Get(path string) Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.objects[path]
}

// List is the stored objects of a collection, by path.
func (a *API) List(collection string) (all []Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.chosen(collection, true) {
		all = append(all, a.objects[at])
	}
	return all
}

// Forget drops an object without a trace: no watch is notified.
func (a *API) Forget(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.objects, path)
}

// Asked are the requests that changed something, such as "POST /api/v1/namespaces", in order. Writes of the harness's own echo
// object are left out.
func (a *API) Asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}
