package clustertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"reflect"
	"strings"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// patch answers a PATCH request for a stored object: a JSON patch, or anything else as a merge patch. A resourceVersion in a merge patch must
// be the present one, as in an API server.
func (a *API) patch(r *http.Request, at string) (status int, body any) {
	was := a.objects[at]
	now, err := patched(was, r)
	if err != nil {
		return refusal(invalid(was, err))
	}
	if now.GetResourceVersion() != was.GetResourceVersion() || now.GetUID() != was.GetUID() {
		return refusal(apierrors.NewConflict(schema.GroupResource{Resource: path.Base(path.Dir(at))}, was.GetName(), errors.New("the object has been modified")))
	}
	if a.Owners {
		if now, err = owned(was, now, managerOf(r), ""); err != nil {
			return refusal(invalid(was, err))
		}
	}
	a.put(path.Dir(at), now)
	if !a.Frozen && a.Owners {
		a.control()
	}
	return http.StatusOK, now
}

// replace answers a PUT request for a stored object, which must be about the present version.
func (a *API) replace(r *http.Request, at string) (status int, body any) {
	now, err := decoded(r.Body)
	if err != nil {
		return refusal(apierrors.NewBadRequest(err.Error()))
	}
	if was := a.objects[at]; now.GetResourceVersion() != was.GetResourceVersion() {
		return refusal(apierrors.NewConflict(schema.GroupResource{Resource: path.Base(path.Dir(at))}, was.GetName(), errors.New("the object has been modified")))
	}
	a.put(path.Dir(at), now)
	return http.StatusOK, now
}

func invalid(o Object, err error) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: o.GetName() + ": " + err.Error(),
	}}
}

// patched returns the object with a patch applied.
func patched(object Object, r *http.Request) (Object, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	change, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	if kind == string(types.JSONPatchType) {
		p, err := jsonpatch.DecodePatch(change)
		if err != nil {
			return nil, err
		}
		if text, err = p.Apply(text); err != nil {
			return nil, err
		}
	} else if text, err = jsonpatch.MergePatch(text, change); err != nil {
		return nil, err
	}
	now := reflect.New(reflect.TypeOf(object).Elem()).Interface().(Object)
	return now, json.Unmarshal(text, now)
}

// managerOf is the field manager of a request: the one that it names, or the program that sent it.
func managerOf(r *http.Request) string {
	if name := r.URL.Query().Get("fieldManager"); name != "" {
		return name
	}
	program, _, _ := strings.Cut(r.UserAgent(), "/")
	return program
}

// typeConverter knows the schemas of all kinds. It takes a tenth of a second to make.
var typeConverter = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

// owned returns the object with its managed fields brought up to date, by the API server's own code.
func owned(was, now Object, manager, subresource string) (Object, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(now)
	if err != nil {
		return nil, err
	}
	for _, o := range []Object{was, now} {
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	converter := typeConverter()
	if subresource != "" {
		converter = managedfields.NewDeducedTypeConverter() // a Scale is no kind of its own there
	}
	m, err := managedfields.NewDefaultFieldManager(converter, scheme.Scheme, noDefaults{}, scheme.Scheme, kinds[0], kinds[0].GroupVersion(), subresource, nil)
	if err != nil {
		return nil, err
	}
	result, err := m.Update(was.DeepCopyObject(), now, manager) // which takes the managed fields away from the first
	if err != nil {
		return nil, fmt.Errorf("update the managed fields of %s: %w", now.GetName(), err)
	}
	return result.(Object), nil
}

// demands are the preconditions in the body of a deletion or an eviction; nil: there are none.
func demands(r *http.Request) *metav1.Preconditions {
	if r.Body == nil {
		return nil
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	var body struct {
		metav1.DeleteOptions `json:",inline"`
		Nested               *metav1.DeleteOptions `json:"deleteOptions"` // of an eviction
	}
	if json.Unmarshal(text, &body) != nil {
		return nil
	}
	if body.Nested != nil {
		return body.Nested.Preconditions
	}
	return body.Preconditions
}

// unmet reports whether an object is not the one that preconditions ask for.
func unmet(p *metav1.Preconditions, o Object) bool {
	return p != nil && o != nil && (p.UID != nil && *p.UID != o.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != o.GetResourceVersion())
}
