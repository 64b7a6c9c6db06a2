package clustertest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// chosen are the paths of the objects that a path means: one object, or a whole collection.
func (a *API) chosen(at string, isCollection bool) (paths []string) {
	for _, p := range slices.Sorted(maps.Keys(a.objects)) {
		if p == at && !isCollection || path.Dir(p) == at && isCollection {
			paths = append(paths, p)
		}
	}
	return paths
}

// inNamespaces returns the objects of a collection in all namespaces, which a path without a namespace stands for.
func (a *API) inNamespaces(collection string) (paths []string) {
	group, resource := path.Split(collection)
	for _, p := range slices.Sorted(maps.Keys(a.objects)) {
		at, _ := path.Split(p)
		namespace, is := strings.CutPrefix(at, group+"namespaces/")
		if _, below, _ := strings.Cut(namespace, "/"); is && below == resource+"/" {
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
	for _, p := range append(a.chosen(collection, true), a.inNamespaces(collection)...) {
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
	if was := a.objects[at]; was == nil {
		what = watch.Added
	} else if o.GetUID() == "" {
		o.SetUID(was.GetUID())
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

// HangUp ends all watches, as an API server does that goes away.
func (a *API) HangUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.hung)
	a.hung = make(chan struct{})
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
			fresh, changed, hung := a.changes[next:], a.changed, a.hung
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
			case <-hung:
				return
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
