package apptest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// retriesFault is what retries at the front door are for. A rollout, a drain and a deletion announce themselves, so that a preStop hook and a
// readiness probe keep requests away from pods that end, and a test of retries would find nothing to do for them. A node that dies says
// nothing, and its pods stay endpoints until Kubernetes has noticed: nothing in the manifests but another try at another pod can save the
// requests that are sent to them meanwhile.
const retriesFault = "node-kill"

// retry is a place where the manifests have the front door try again. To take the retries away is to turn them off, because several front
// doors try again where nothing is written down.
type retry struct {
	words, place string
	behind       []app.Workload // to whose pods the requests are sent
	at           int            // of the manifest
	off          func(object map[string]any)
}

// retries are the practices of a workload that are written down at its front door.
func (t Test) retries(w app.Workload) (list []Practice) {
	for at, m := range t.App.Manifests {
		for _, r := range t.retriesIn(at, m) {
			if !slices.ContainsFunc(r.behind, func(other app.Workload) bool { return other.Name == w.Name }) {
				continue
			}
			name := "retries"
			if len(list) > 0 {
				name += fmt.Sprintf("-%d", len(list)+1)
			}
			list = append(list, Practice{Name: name, Removed: r.words, Place: r.place, Fault: retriesFault, without: func() (app.App, error) {
				return t.App.Without(at, func(o map[string]any) bool { r.off(o); return true })
			}})
		}
	}
	return list
}

// retriesIn are the retries that are written down in a manifest.
func (t Test) retriesIn(at int, m app.Manifest) []retry {
	gk := m.Object.GroupVersionKind().GroupKind()
	switch kind := gk.Kind; {
	case kind == "Middleware" && (gk.Group == "traefik.io" || gk.Group == "traefik.containo.us"):
		return t.ofMiddleware(m)
	case kind == "Ingress" && gk.Group == "networking.k8s.io":
		return t.ofIngress(m)
	case kind == "HTTPRoute" && gk.Group == "gateway.networking.k8s.io":
		return t.ofRules(m, "rules", "retry", "backendRefs", "name")
	case kind == "VirtualService" && gk.Group == "networking.istio.io":
		return t.ofRules(m, "http", "retries", "route", "destination", "host")
	case kind == "ConfigMap" && gk.Group == "":
		return t.ofConfigMap(m)
	}
	return nil
}

// ofMiddleware are the retries of Traefik, where a router uses them. One attempt is no retry. Without the field the Middleware would have no
// type, and Traefik would refuse every router that names it.
//
// Source: traefik v3.6 pkg/middlewares/retry
func (t Test) ofMiddleware(m app.Manifest) []retry {
	attempts, has, _ := unstructured.NestedFieldNoCopy(m.Object.Object, "spec", "retry", "attempts")
	if !has || fmt.Sprint(attempts) == "1" {
		return nil
	}
	return []retry{{
		words: "the retries of Middleware " + m.Object.GetName() + " (one attempt instead)", place: m.Place("spec", "retry"),
		behind: t.usersOf(m.Object.GetNamespace(), m.Object.GetName(), nil),
		off:    func(o map[string]any) { _ = unstructured.SetNestedField(o, int64(1), "spec", "retry", "attempts") },
	}}
}

// The annotations by which ingress-nginx tries another pod. Where there are none it does so, too, on errors and time-outs.
//
// Source: https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/#custom-timeouts
const (
	nextUpstream  = "proxy-next-upstream" // also in the ConfigMap of the controller
	ofNginx       = "nginx.ingress.kubernetes.io/"
	nextUpstreams = ofNginx + nextUpstream
)

func (t Test) ofIngress(m app.Manifest) []retry {
	notes := m.Object.GetAnnotations()
	first := firstOf(notes, nextUpstreams)
	if first == "" || notes[nextUpstreams] == "off" {
		return nil
	}
	return []retry{{
		words: "the retries of Ingress " + m.Object.GetName() + " (" + nextUpstream + " off instead)", place: m.Place("metadata", "annotations", first),
		behind: t.servedBy(backendsOf(m)...),
		off: func(o map[string]any) {
			_ = unstructured.SetNestedField(o, "off", "metadata", "annotations", nextUpstreams)
		},
	}}
}

// firstOf is the first key, in alphabetical order, that begins as told; empty: there is none.
func firstOf(texts map[string]string, prefix string) string {
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if strings.HasPrefix(key, prefix) {
			return key
		}
	}
	return ""
}

// ofRules are the retries of an HTTPRoute or a VirtualService, which has them in a field of its rules. No attempts are no retries; without
// the field, the gateway would do what it does by default, and Istio tries twice.
//
// Source: https://gateway-api.sigs.k8s.io/geps/gep-1731/, https://istio.io/latest/docs/concepts/traffic-management/#retries
func (t Test) ofRules(m app.Manifest, rules, field string, to ...string) []retry {
	list, _, _ := unstructured.NestedSlice(m.Object.Object, "spec", rules)
	first, hosts := -1, []string(nil)
	for i, one := range list {
		rule, _ := one.(map[string]any)
		if tries(rule, field) {
			hosts = append(hosts, textsIn(rule, to...)...)
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return nil
	}
	return []retry{{
		words:  "the retries of " + m.Object.GetKind() + " " + m.Object.GetName() + " (no attempts instead)",
		place:  m.Place("spec", rules, first, field),
		behind: t.servedBy(hosts...),
		off: func(o map[string]any) {
			list, _, _ := unstructured.NestedSlice(o, "spec", rules)
			for _, one := range list {
				if rule, _ := one.(map[string]any); tries(rule, field) {
					rule[field] = map[string]any{"attempts": int64(0)}
				}
			}
			_ = unstructured.SetNestedSlice(o, list, "spec", rules)
		},
	}}
}

// tries reports whether a rule has retries that are not off.
func tries(rule map[string]any, field string) bool {
	of, has, _ := unstructured.NestedMap(rule, field)
	attempts, told := of["attempts"]
	return has && !(told && fmt.Sprint(attempts) == "0")
}

// ofConfigMap are the retries in the configuration of a proxy: a file of HAProxy or nginx, or the settings of ingress-nginx.
func (t Test) ofConfigMap(m app.Manifest) (list []retry) {
	data, _, _ := unstructured.NestedStringMap(m.Object.Object, "data")
	in := " in ConfigMap " + m.Object.GetName()
	if first := firstOf(data, nextUpstream); first != "" && data[nextUpstream] != "off" {
		list = append(list, retry{
			words: "the retries" + in + " (" + nextUpstream + " off instead)", place: m.Place("data", first), behind: t.everyBackend(),
			off: func(o map[string]any) { _ = unstructured.SetNestedField(o, "off", "data", nextUpstream) },
		})
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		for _, p := range proxies {
			changed, line := p.off(data[key])
			if line < 0 {
				continue
			}
			list = append(list, retry{
				words: "the retries of " + p.name + " in " + key + " of ConfigMap " + m.Object.GetName() + " (" + p.instead + " instead)",
				place: m.PlaceInText(line, "data", key), behind: t.behindProxies(m.Object.GetNamespace(), m.Object.GetName()),
				off: func(o map[string]any) { _ = unstructured.SetNestedField(o, changed, "data", key) },
			})
		}
	}
	return list
}

// behindProxies are the workloads to which the users of a ConfigMap send requests on, as the probes say. Where nothing says so, it is the
// users themselves.
func (t Test) behindProxies(namespace, name string) (list []app.Workload) {
	if namespace != t.App.Namespace {
		return nil
	}
	for _, w := range t.App.Workloads {
		if !mounts(w.Template.Spec, name) {
			continue
		}
		var behind []app.Workload
		for _, p := range t.Probes {
			f := p.front(t.App)
			if f != nil && slices.ContainsFunc(workloadsOf(t.App, f.Entries), func(entry app.Workload) bool { return entry.Name == w.Name }) {
				behind = append(behind, workloadsOf(t.App, f.Backends)...)
			}
		}
		if len(behind) == 0 {
			behind = []app.Workload{w}
		}
		list = append(list, behind...)
	}
	return list
}

// mounts reports whether pods have files of a ConfigMap.
func mounts(pod corev1.PodSpec, name string) bool {
	return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
		if v.ConfigMap != nil {
			return v.ConfigMap.Name == name
		}
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ConfigMap != nil && s.ConfigMap.Name == name
		})
	})
}

// servedBy are the workloads behind some Services, which are named as their clients name them.
func (t Test) servedBy(hosts ...string) []app.Workload {
	var names []string
	for _, host := range hosts {
		if s, known := t.App.Service(host); known {
			names = append(names, s.Name)
		}
	}
	return workloadsOf(t.App, names)
}

// backendsOf are the Services to which an Ingress, a route or a VirtualService sends requests.
func backendsOf(m app.Manifest) []string {
	o := m.Object.Object
	switch m.Object.GetKind() {
	case "Ingress":
		return append(textsIn(o, "spec", "rules", "http", "paths", "backend", "service", "name"), textsIn(o, "spec", "defaultBackend", "service", "name")...)
	case "HTTPRoute":
		return textsIn(o, "spec", "rules", "backendRefs", "name")
	case "IngressRoute":
		return textsIn(o, "spec", "routes", "services", "name")
	case "VirtualService":
		return textsIn(o, "spec", "http", "route", "destination", "host")
	}
	return nil
}

// everyBackend are the workloads behind all front doors.
func (t Test) everyBackend() []app.Workload {
	var hosts []string
	for _, m := range t.App.Manifests {
		hosts = append(hosts, backendsOf(m)...)
	}
	return t.servedBy(hosts...)
}

// usersOf are the workloads whose requests pass a Middleware of Traefik: behind the routers that name it, or a chain with it. A name that
// stands elsewhere, such as among the arguments of Traefik, is for all routers.
//
// Source: https://doc.traefik.io/traefik/middlewares/overview/, https://doc.traefik.io/traefik/reference/routing-configuration/kubernetes/ingress/
func (t Test) usersOf(namespace, name string, chained []string) (list []app.Workload) {
	full := namespace + "-" + name + "@kubernetescrd"
	if slices.Contains(chained, full) {
		return nil
	}
	for _, m := range t.App.Manifests {
		o := m.Object.Object
		local := m.Object.GetNamespace() == namespace
		switch kind := m.Object.GetKind(); {
		case kind == "Ingress":
			for one := range strings.SplitSeq(m.Object.GetAnnotations()["traefik.ingress.kubernetes.io/router.middlewares"], ",") {
				if strings.TrimSpace(one) == full {
					list = append(list, t.servedBy(backendsOf(m)...)...)
				}
			}
		case kind == "IngressRoute" && refers(o, local, namespace, name, "spec", "routes", "middlewares"),
			kind == "HTTPRoute" && local && slices.Contains(textsIn(o, "spec", "rules", "filters", "extensionRef", "name"), name):
			list = append(list, t.servedBy(backendsOf(m)...)...)
		case kind == "Middleware" && refers(o, local, namespace, name, "spec", "chain", "middlewares"):
			list = append(list, t.usersOf(m.Object.GetNamespace(), m.Object.GetName(), append(chained, full))...)
		case kind != "Middleware" && kind != "IngressRoute" && kind != "HTTPRoute" && mentions(o, full):
			list = append(list, t.everyBackend()...)
		}
	}
	return list
}

// refers reports whether a list of references has a name, of the same namespace unless it names another.
func refers(o map[string]any, local bool, namespace, name string, path ...string) bool {
	return slices.ContainsFunc(valuesIn(o, path...), func(v any) bool {
		ref, _ := v.(map[string]any)
		in, told := ref["namespace"].(string)
		return ref["name"] == name && (in == namespace || !told && local)
	})
}

// mentions reports whether a text is anywhere in an object.
func mentions(o map[string]any, text string) bool {
	raw, err := json.Marshal(o)
	return err == nil && strings.Contains(string(raw), text)
}

// valuesIn are the values at a path, through all elements of the lists on the way.
func valuesIn(v any, path ...string) (all []any) {
	if list, is := v.([]any); is {
		for _, one := range list {
			all = append(all, valuesIn(one, path...)...)
		}
		return all
	}
	if len(path) == 0 {
		return []any{v}
	}
	of, _ := v.(map[string]any)
	if next, has := of[path[0]]; has {
		return valuesIn(next, path[1:]...)
	}
	return nil
}

// textsIn are those of the values at a path that are texts.
func textsIn(v any, path ...string) (all []string) {
	for _, one := range valuesIn(v, path...) {
		if text, is := one.(string); is {
			all = append(all, text)
		}
	}
	return all
}
