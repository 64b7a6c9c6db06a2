package manifests

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Copy is what was read of an application.
type Copy struct {
	// Objects are the application's objects without what belongs to their cluster, in the order of their kinds and names.
	Objects []unstructured.Unstructured
	// Gaps say what the copy lacks, a sentence each.
	Gaps []string
}

// kind is a kind of objects that an application consists of.
type kind struct {
	schema.GroupVersionResource
	optional bool // not every cluster serves it
}

func resource(group, version, name string) kind {
	return kind{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: name}}
}

// kinds are what is read. Pods, ReplicaSets, Jobs and EndpointSlices are made by controllers, and Secrets are not read.
var kinds = []kind{
	resource("", "v1", "serviceaccounts"), resource("rbac.authorization.k8s.io", "v1", "roles"), resource("rbac.authorization.k8s.io", "v1", "rolebindings"),
	resource("", "v1", "configmaps"), resource("", "v1", "persistentvolumeclaims"), resource("", "v1", "services"),
	resource("policy", "v1", "poddisruptionbudgets"), resource("apps", "v1", "deployments"), resource("apps", "v1", "statefulsets"), resource("apps", "v1", "daemonsets"),
	resource("batch", "v1", "cronjobs"), resource("autoscaling", "v2", "horizontalpodautoscalers"),
	resource("networking.k8s.io", "v1", "networkpolicies"), resource("networking.k8s.io", "v1", "ingresses"),
	{resource("gateway.networking.k8s.io", "v1", "gateways").GroupVersionResource, true},
	{resource("gateway.networking.k8s.io", "v1", "httproutes").GroupVersionResource, true},
}

// page is how many objects are asked for at a time.
const page = 250

// CopyOf copies the application in a namespace. It returns an error if the namespace has no Deployment, StatefulSet or DaemonSet that can be read.
// A kind that must not be read is a gap of the copy.
func CopyOf(ctx context.Context, client dynamic.Interface, namespace string) (c Copy, err error) {
	var refused []error
	for _, k := range kinds {
		objects, err := list(ctx, client, k, namespace)
		switch {
		case apierrors.IsForbidden(err):
			refused = append(refused, err)
			c.Gaps = append(c.Gaps, fmt.Sprintf("The %s are missing: this user must not list them.", k.Resource))
		case apierrors.IsNotFound(err) && k.optional:
		case err != nil:
			return Copy{}, fmt.Errorf("read %s in namespace %s: %w", k.Resource, namespace, err)
		}
		c.Objects = append(c.Objects, objects...)
	}
	c.Objects = slices.DeleteFunc(c.Objects, func(o unstructured.Unstructured) bool { return madeByCluster(o, c.Objects) })
	if !slices.ContainsFunc(c.Objects, func(o unstructured.Unstructured) bool {
		return slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, o.GetKind())
	}) {
		return Copy{}, errors.Join(fmt.Errorf("namespace %s has no Deployment, StatefulSet or DaemonSet that this user can read: name another with --namespace", namespace),
			errors.Join(refused...))
	}
	c.Gaps = append(c.Gaps, "The secrets are missing: holdfast reads none.")
	for i := range c.Objects {
		strip(&c.Objects[i])
	}
	return c, nil
}

// list returns all objects of a kind.
func list(ctx context.Context, client dynamic.Interface, k kind, namespace string) (all []unstructured.Unstructured, err error) {
	options := metav1.ListOptions{Limit: page}
	for {
		some, err := client.Resource(k.GroupVersionResource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return nil, err
		}
		all = append(all, some.Items...)
		if options.Continue = some.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}

// madeByCluster reports whether the cluster makes an object by itself, here and wherever the copy runs.
func madeByCluster(o unstructured.Unstructured, all []unstructured.Unstructured) bool {
	switch name := o.GetName(); o.GetKind() {
	case "ConfigMap":
		return name == "kube-root-ca.crt" || name == "istio-ca-root-cert"
	case "ServiceAccount":
		return name == "default"
	case "Service":
		return name == "kubernetes" && o.GetNamespace() == metav1.NamespaceDefault
	case "PersistentVolumeClaim":
		return slices.ContainsFunc(all, func(set unstructured.Unstructured) bool { return claimedBy(set, name) })
	}
	return false
}

// claimedBy reports whether a StatefulSet makes the claim of a name from one of its templates.
func claimedBy(set unstructured.Unstructured, claim string) bool {
	if set.GetKind() != "StatefulSet" {
		return false
	}
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	return slices.ContainsFunc(templates, func(one any) bool {
		fields, _ := one.(map[string]any)
		name, _, _ := unstructured.NestedString(fields, "metadata", "name")
		rest, is := strings.CutPrefix(claim, name+"-"+set.GetName()+"-")
		return is && ordinal.MatchString(rest)
	})
}

var ordinal = regexp.MustCompile(`^\d+$`)
