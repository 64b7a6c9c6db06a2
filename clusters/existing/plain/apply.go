package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// subjectOf is a user, or the ServiceAccount "NAMESPACE:NAME".
func subjectOf(who string) rbacv1.Subject {
	if namespace, name, is := strings.Cut(who, ":"); is {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: who}
}

// Apply applies manifests as the administrator, in their order.
func (c *Cluster) Apply(ctx context.Context, manifests string) error {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	for documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096); ; {
		var o unstructured.Unstructured
		if err := documents.Decode(&o.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read manifests: %w", err)
		}
		if len(o.Object) == 0 {
			continue
		}
		kind := o.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", kind.Kind, o.GetName(), err)
		}
		objects := dynamic.ResourceInterface(client.Resource(mapping.Resource))
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			objects = client.Resource(mapping.Resource).Namespace(o.GetNamespace())
		}
		if _, err := objects.Apply(ctx, o.GetName(), &o, metav1.ApplyOptions{FieldManager: "plain", Force: true}); err != nil {
			return fmt.Errorf("apply %s %s: %w", kind.Kind, o.GetName(), err)
		}
	}
}

// LoadImage imports an archive of images on each node.
func (c *Cluster) LoadImage(archive string) error {
	nodes, err := c.kind.ListInternalNodes(c.fullName())
	if err != nil {
		return err
	}
	for _, n := range nodes {
		file, err := os.Open(archive)
		if err != nil {
			return err
		}
		err = nodeutils.LoadImageArchive(n, file)
		_ = file.Close() // only read
		if err != nil {
			return fmt.Errorf("load %s into %s: %w", archive, n, err)
		}
	}
	return nil
}

// Kubectl copies kubectl from a node into the cluster's folder, and returns its path.
func (c *Cluster) Kubectl(ctx context.Context) (path string, err error) {
	path = filepath.Join(c.Dir, "kubectl")
	_, err = c.engine.Output(ctx, "cp", c.ControlPlane()+":/usr/bin/kubectl", path)
	return path, err
}

// ControlPlane is the name of the control plane's container, and of its node.
func (c *Cluster) ControlPlane() string { return c.fullName() + "-control-plane" }

// Engine runs a command of the container engine, for what a test does to a node: kill, pause, exec.
func (c *Cluster) Engine(ctx context.Context, args ...string) ([]byte, error) {
	return c.engine.Output(ctx, args...)
}
