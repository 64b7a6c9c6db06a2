package undo

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Object names a node, a Deployment or a StatefulSet. An empty UID stands for the object that there is.
type Object struct {
	Resource        string // in the plural, as in a URL
	Namespace, Name string
	UID             types.UID
}

// Node is a node.
func Node(name string) Object { return Object{Resource: "nodes", Name: name} }

// Workload is a Deployment or a StatefulSet, by its resource: "deployments".
func Workload(resource, namespace, name string) Object {
	return Object{Resource: resource, Namespace: namespace, Name: name}
}

func (o Object) String() string {
	if o.Namespace == "" {
		return o.Resource + "/" + o.Name
	}
	return o.Namespace + "/" + o.Resource + "/" + o.Name
}

// callLimit bounds one request.
const callLimit = 5 * time.Second

func at(client dynamic.Interface, resource, namespace string) dynamic.ResourceInterface {
	gvr := schema.GroupVersionResource{Group: groupOf(resource), Version: "v1", Resource: resource}
	if namespace == "" {
		return client.Resource(gvr)
	}
	return client.Resource(gvr).Namespace(namespace)
}

func (o Object) get(ctx context.Context, client dynamic.Interface) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	read, err := at(client, o.Resource, o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o, err)
	}
	return read, nil
}

// patch sends a JSON patch for exactly the object that was read: nothing has changed it since, not even its status.
func (o Object) patch(ctx context.Context, client dynamic.Interface, manager string, read *unstructured.Unstructured, ops ...operation) (*unstructured.Unstructured, error) {
	body, err := encoded(append([]operation{
		{"test", "/metadata/uid", read.GetUID()}, {"test", "/metadata/resourceVersion", read.GetResourceVersion()},
	}, ops...))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return at(client, o.Resource, o.Namespace).Patch(ctx, o.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: manager})
}
