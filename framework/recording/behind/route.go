package behind

import (
	"context"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// routes is the kind of HTTPRoutes, which not every cluster serves.
//
// Source: https://gateway-api.sigs.k8s.io/reference/spec/#httproute
var routes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}

// byRoute finds the Services to which HTTPRoutes send the requests of a host and a path.
func (f *Finder) byRoute(ctx context.Context, u *url.URL) (found []string, err error) {
	for _, namespace := range f.namespaces {
		list, err := f.untyped.Resource(routes).Namespace(namespace).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err): // the kind is not served
			return nil, nil
		case err != nil:
			return found, err
		}
		for i := range list.Items {
			found = append(found, ofRoute(list.Items[i], u)...)
		}
	}
	return found, nil
}

// ofRoute are the backends of the rules that fit best: those with the longest path prefix. Which of the rules with other conditions a request
// meets is not known, so that all count.
func ofRoute(route unstructured.Unstructured, u *url.URL) (found []string) {
	hosts, _, _ := unstructured.NestedStringSlice(route.Object, "spec", "hostnames")
	fits := false
	for _, host := range hosts {
		fits = fits || sameHost(host, u.Hostname())
	}
	if !fits {
		return nil
	}
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	best := -1
	for _, one := range rules {
		rule, _ := one.(map[string]any)
		long := prefix(rule, u.Path)
		if long < best || long < 0 {
			continue
		}
		if long > best {
			best, found = long, nil
		}
		found = append(found, backends(rule, route.GetNamespace())...)
	}
	return found
}

// prefix is the length of the longest path of a rule that a path is below; -1: the rule is for other paths. A rule without paths is for all.
func prefix(rule map[string]any, path string) int {
	matches, _, _ := unstructured.NestedSlice(rule, "matches")
	if len(matches) == 0 {
		return 0
	}
	best := -1
	for _, one := range matches {
		match, _ := one.(map[string]any)
		value, has, _ := unstructured.NestedString(match, "path", "value")
		if !has || below(value, path) {
			best = max(best, len(value))
		}
	}
	return best
}

// backends are the Services of a rule.
func backends(rule map[string]any, namespace string) (found []string) {
	refs, _, _ := unstructured.NestedSlice(rule, "backendRefs")
	for _, one := range refs {
		ref, _ := one.(map[string]any)
		name, _, _ := unstructured.NestedString(ref, "name")
		kind, hasKind, _ := unstructured.NestedString(ref, "kind")
		in, has, _ := unstructured.NestedString(ref, "namespace")
		if !has {
			in = namespace
		}
		if name != "" && (!hasKind || kind == "Service") {
			found = append(found, in+"/"+name)
		}
	}
	return found
}
