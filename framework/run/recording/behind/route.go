package behind

import (
	"context"
	"net/url"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// routes is the kind of HTTPRoutes, which not every cluster serves.
//
// Source: https://gateway-api.sigs.k8s.io/reference/spec/#httproute
var routes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}

// byRoute finds the Services to which HTTPRoutes send the requests of a host and a path. The rules of all routes of a host are joined, as those of
// Ingresses are.
func (f *Finder) byRoute(ctx context.Context, u *url.URL, into *Found) error {
	best := &longest{}
	defer func() { into.Services = append(into.Services, best.services...) }()
	for _, namespace := range f.namespaces {
		list, err := f.untyped.Resource(routes).Namespace(namespace).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err): // the kind is not served
			return nil
		case err != nil:
			return err
		}
		for i := range list.Items {
			ofRoute(list.Items[i], u, best)
		}
	}
	return nil
}

// ofRoute takes in the backends of a route. Which of the rules with other conditions a request meets is not known, so that all count.
func ofRoute(route unstructured.Unstructured, u *url.URL, into *longest) {
	hosts, _, _ := unstructured.NestedStringSlice(route.Object, "spec", "hostnames")
	if !slices.ContainsFunc(hosts, func(host string) bool { return sameHost(host, u.Hostname()) }) {
		return
	}
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	for _, one := range rules {
		rule, _ := one.(map[string]any)
		if r, is := meets(rule, slices.Contains(hosts, u.Hostname()), u.Path); is {
			into.take(r, backends(rule, route.GetNamespace())...)
		}
	}
}

// meets reports whether a path meets one of the matches of a rule, and how well. A rule without matches is for all paths.
func meets(rule map[string]any, exactHost bool, path string) (best rank, is bool) {
	matches, _, _ := unstructured.NestedSlice(rule, "matches")
	if len(matches) == 0 {
		return rankOf(exactHost, "", false), true
	}
	for _, one := range matches {
		match, _ := one.(map[string]any)
		kind, _, _ := unstructured.NestedString(match, "path", "type")
		value, has, _ := unstructured.NestedString(match, "path", "value")
		if r := rankOf(exactHost, value, kind == "Exact"); (!has || sameWay(kind, value, path)) && r.compare(best) > 0 {
			best, is = r, true
		}
	}
	return best, is
}

// sameWay reports whether a match of a kind and a value is for a path. Without a kind it is a prefix.
func sameWay(kind, value, path string) bool {
	switch kind {
	case "Exact":
		return value == path
	case "RegularExpression":
		pattern, err := regexp.Compile("^(?:" + value + ")$")
		return err == nil && pattern.MatchString(path)
	}
	return below(value, path)
}

// backends are the Services of a rule that get requests.
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
		if weight, has, _ := unstructured.NestedInt64(ref, "weight"); has && weight == 0 {
			continue
		}
		if name != "" && (!hasKind || kind == "Service") {
			found = append(found, in+"/"+name)
		}
	}
	return found
}
