// Package journaltest lets a journal work with a fake clientset, for tests.
package journaltest

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/journal"
)

// New is a journal whose requests end in a fake clientset, with its reactors. The objects that it changes need a UID and a resourceVersion, and the
// namespace kube-system must exist. File is the path of the local copy. Changed, if not nil, is called with each object that was patched.
func New(client *fake.Clientset, file string, changed func(runtime.Object)) *journal.Journal {
	return journal.New(journal.Options{Run: "run", Command: "a test", Client: client, Dynamic: Dynamic(client, changed), File: file})
}

// Dynamic is a client without types whose requests end in a fake clientset.
func Dynamic(client *fake.Clientset, changed func(runtime.Object)) dynamic.Interface {
	untyped := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
	untyped.PrependReactor("*", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		a, err := typed(a)
		if err != nil {
			return true, nil, err
		}
		o, err := client.Invokes(a, nil)
		if err != nil {
			return true, nil, err
		}
		if a.GetVerb() == "patch" && changed != nil {
			changed(o)
		}
		o, err = loose(o)
		return true, o, err
	})
	return untyped
}

// typed is an action with a typed object, if it has one.
func typed(a k8stesting.Action) (k8stesting.Action, error) {
	create, is := a.(k8stesting.CreateActionImpl)
	if !is {
		return a, nil
	}
	u, is := create.Object.(*unstructured.Unstructured)
	if !is {
		return a, nil
	}
	o, err := scheme.Scheme.New(u.GroupVersionKind())
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
	}
	create.Object = o
	return create, err
}

// loose is a typed object, or a list of such, as a client without types gets it.
func loose(o runtime.Object) (runtime.Object, error) {
	if o == nil || reflect.ValueOf(o).IsNil() {
		return &unstructured.Unstructured{Object: map[string]any{}}, nil
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		return nil, err
	}
	if !meta.IsListType(o) {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		u := &unstructured.Unstructured{Object: raw}
		u.SetGroupVersionKind(kinds[0])
		return u, err
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	list.SetGroupVersionKind(kinds[0])
	return list, meta.EachListItem(o, func(item runtime.Object) error {
		u, err := loose(item)
		if err == nil {
			list.Items = append(list.Items, *u.(*unstructured.Unstructured))
		}
		return err
	})
}
