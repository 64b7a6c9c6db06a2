package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Front is an Ingress or an HTTPRoute: the requests to its hosts come to the pods of a controller, which sends them on to the pods of a
// Service. The controller is one of the application's workloads.
type Front struct {
	Kind, Name string
	// Gateways are the Gateways of an HTTPRoute, as NAME or, in another namespace than the application's, NAMESPACE/NAME.
	Gateways []string
	// Backends are the Services that answer in the end.
	Backends []string
	// Entries are the Services of type LoadBalancer that are no Backends: one of them leads to the controller. No object says which.
	Entries []string
	// Elsewhere are those of Entries that are in another namespace or come before the application.
	Elsewhere []Service
	Sticky    string // see StickyIngress
}

// String names the object: "Ingress shop".
func (f Front) String() string { return f.Kind + " " + f.Name }

// Front finds the Ingress or the HTTPRoute of a URL, by its host and its path. Not ok: there is none.
func (a App) Front(u *url.URL) (f Front, ok bool) {
	best := match{}
	for _, m := range a.Manifests {
		if m.Object.GetNamespace() != a.Namespace { // what it leads to is not tested
			continue
		}
		for _, r := range rulesOf(m) {
			matched := r.match(u)
			if !matched.ok || best.ok && best.better(matched) {
				continue
			}
			if !best.ok || matched.better(best) {
				best, f = matched, Front{Kind: r.kind, Name: r.name, Gateways: r.gateways, Sticky: StickyIngress(m.Object.GetAnnotations())}
			}
			if f.Kind == r.kind && f.Name == r.name { // rules that differ in a header or a method: which of them answers is not known
				f.Backends = append(f.Backends, r.backends...)
			}
		}
	}
	if !best.ok {
		return f, false
	}
	slices.Sort(f.Backends)
	f.Backends = slices.Compact(f.Backends)
	for _, s := range a.Services {
		if s.LoadBalancer && !slices.Contains(f.Backends, s.Name) {
			f.Entries = append(f.Entries, s.Name)
		}
	}
	for _, s := range a.Elsewhere {
		if s.LoadBalancer {
			f.Elsewhere = append(f.Elsewhere, s)
		}
	}
	return f, true
}

// FrontOf finds what is in front of the Services of a URL, unless the URL names a Service.
func (a App) FrontOf(rawURL string) (Front, bool) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme == "tcp" { // neither of them is for other protocols
		return Front{}, false
	}
	if _, is := a.Service(u.Hostname()); is {
		return Front{}, false
	}
	return a.Front(u)
}

// rule is what an Ingress or an HTTPRoute says of a path.
type rule struct {
	kind, name string
	hosts      []string // none: every host
	subdomains bool     // a wildcard stands for several labels
	path       string
	exact      bool
	gateways   []string
	backends   []string
	ports      []intstr.IntOrString // of the backends; the zero value: any
	tls        bool                 // its clients ask over TLS
	fallback   bool                 // it is for what no other one matches
	rewrites   bool                 // the backends may be asked for another path, or the path is an expression
}

// Way is how clients come to a Service, by a rule of an Ingress or an HTTPRoute.
type Way struct {
	Kind, Name    string // of the Ingress or the HTTPRoute
	Host          string // empty: any
	Path          string // the beginning of the paths, or the path
	Rewrites, TLS bool   // the Service may be asked for another path; clients ask over TLS
	Service       string
	Port          intstr.IntOrString // of the Service; the zero value: any
}

// Ways are those to the Services in the application's namespace, for hosts and paths that a rule names.
func (a App) Ways() (all []Way) {
	for _, m := range slices.Concat(a.Manifests, a.Taken) {
		for _, r := range rulesOf(m) {
			for i, service := range r.backends {
				if cmp.Or(m.Object.GetNamespace(), a.Namespace) == a.Namespace && !r.fallback {
					all = append(all, Way{r.kind, r.name, append(r.hosts, "")[0], r.path, r.rewrites, r.tls, service, r.ports[i]})
				}
			}
		}
	}
	return all
}

// match is how well a rule is for a URL: an exact host before a wildcard, an exact path before a prefix, and the longer before the
// shorter.
//
// Source: https://kubernetes.io/docs/concepts/services-networking/ingress/#multiple-matches,
// https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule
type match struct {
	ok         bool
	host       int
	exact      bool
	pathLength int
}

// better reports whether a match goes before another.
func (m match) better(than match) bool {
	switch {
	case m.host != than.host:
		return m.host > than.host
	case m.exact != than.exact:
		return m.exact
	}
	return m.pathLength > than.pathLength
}

func (r rule) match(u *url.URL) match {
	host := -1
	for _, pattern := range r.hosts {
		host = max(host, matchHost(pattern, u.Hostname(), r.subdomains))
	}
	if len(r.hosts) == 0 && strings.Contains(u.Hostname(), ".") { // a host without a dot is more likely a mistyped Service
		host = 0
	}
	path := cmp.Or(u.Path, "/")
	prefix := strings.TrimSuffix(r.path, "/")
	if host < 0 || r.exact && path != r.path || !r.exact && path != prefix && !strings.HasPrefix(path, prefix+"/") {
		return match{}
	}
	return match{true, host, r.exact, len(r.path)}
}

// exactHost is longer than any pattern.
const exactHost = 1 << 10

// matchHost says how well a pattern is for a host; negative: not at all.
func matchHost(pattern, host string, subdomains bool) int {
	suffix, wild := strings.CutPrefix(strings.ToLower(pattern), "*")
	host = strings.ToLower(host)
	switch {
	case !wild && suffix == host:
		return exactHost
	case !wild || !strings.HasSuffix(host, suffix):
		return -1
	}
	if label := strings.TrimSuffix(host, suffix); label == "" || !subdomains && strings.Contains(label, ".") {
		return -1
	}
	return len(suffix)
}

// rulesOf are the rules of an object; none if it is neither an Ingress nor an HTTPRoute.
func rulesOf(m Manifest) []rule {
	switch m.Object.GroupVersionKind().GroupKind().String() {
	case "Ingress.networking.k8s.io":
		return rulesOfIngress(m)
	case "HTTPRoute.gateway.networking.k8s.io":
		return rulesOfRoute(m)
	}
	return nil
}

func rulesOfIngress(m Manifest) (all []rule) {
	var in networkingv1.Ingress
	if runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object.Object, &in) != nil { // the API server says what is wrong
		return nil
	}
	of := func(host, path string, exact bool, backend *networkingv1.IngressBackend) {
		r := rule{kind: m.Object.GetKind(), name: in.Name, path: path, exact: exact, rewrites: rewrites(m), fallback: backend == in.Spec.DefaultBackend}
		if host != "" {
			r.hosts = []string{host}
		}
		r.tls = slices.ContainsFunc(in.Spec.TLS, func(t networkingv1.IngressTLS) bool { return len(t.Hosts) == 0 || slices.Contains(t.Hosts, host) })
		if s := backend.Service; s != nil {
			r.backends, r.ports = []string{s.Name}, []intstr.IntOrString{intstr.FromInt32(s.Port.Number)}
			if s.Port.Name != "" {
				r.ports[0] = intstr.FromString(s.Port.Name)
			}
		}
		all = append(all, r)
	}
	for _, r := range in.Spec.Rules {
		if r.HTTP == nil {
			continue
		}
		for _, p := range r.HTTP.Paths {
			of(r.Host, p.Path, p.PathType != nil && *p.PathType == networkingv1.PathTypeExact, &p.Backend)
		}
	}
	if in.Spec.DefaultBackend != nil {
		of("", "", false, in.Spec.DefaultBackend)
		for _, r := range in.Spec.Rules { // and what no path of a host matches
			of(r.Host, "", false, in.Spec.DefaultBackend)
		}
	}
	return all
}

// rewrites reports whether annotations may have the backends asked for another path than clients ask for.
func rewrites(m Manifest) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(m.Object.GetAnnotations())), rewriting.MatchString)
}

var rewriting = regexp.MustCompile("rewrite|middlewares")

// route is what is read of an HTTPRoute. Its module is not needed for more.
type route struct {
	Spec struct {
		Hostnames  []string
		ParentRefs []struct{ Kind, Name, Namespace string }
		Rules      []struct {
			Matches     []struct{ Path *struct{ Type, Value string } }
			Filters     []any
			BackendRefs []struct {
				Kind, Name, Namespace string
				Weight                *int
				Port                  int32
			}
		}
	}
}

func rulesOfRoute(m Manifest) (all []rule) {
	var in route
	if text, err := m.Object.MarshalJSON(); err != nil || json.Unmarshal(text, &in) != nil { // the API server says what is wrong
		return nil
	}
	base := rule{kind: m.Object.GetKind(), name: m.Object.GetName(), hosts: in.Spec.Hostnames, subdomains: true}
	for _, p := range in.Spec.ParentRefs {
		if p.Kind == "" || p.Kind == "Gateway" {
			name := p.Name
			if in := m.Object.GetNamespace(); p.Namespace != "" && p.Namespace != in {
				name = p.Namespace + "/" + p.Name
			}
			base.gateways = append(base.gateways, name)
		}
	}
	for _, one := range in.Spec.Rules {
		r, rewritten := base, len(one.Filters) > 0 || rewrites(m)
		for _, b := range one.BackendRefs {
			if (b.Kind == "" || b.Kind == "Service") && (b.Weight == nil || *b.Weight > 0) {
				r.backends, r.ports = append(r.backends, b.Name), append(r.ports, intstr.FromInt32(b.Port))
			}
		}
		paths := 0
		for _, m := range one.Matches {
			if m.Path == nil {
				continue
			}
			paths++
			r.path, r.exact, r.rewrites = m.Path.Value, m.Path.Type == "Exact", rewritten
			if m.Path.Type == "RegularExpression" { // it may be for any path
				r.path, r.rewrites = anyPath, true
			}
			all = append(all, r)
		}
		if paths < max(len(one.Matches), 1) {
			r.path, r.exact, r.rewrites = anyPath, false, rewritten
			all = append(all, r)
		}
	}
	return all
}

// anyPath is the prefix of a rule of an HTTPRoute that says nothing of paths.
const anyPath = "/"

// Names says what a URL can name, for an error: the Services, and the hosts of Ingresses and HTTPRoutes.
func (a App) Names() string {
	var names []string
	for _, s := range a.Services {
		names = append(names, s.Name)
	}
	for _, m := range a.Manifests {
		for _, r := range rulesOf(m) {
			for _, host := range r.hosts {
				if named := fmt.Sprintf("%s (%s %s)", host, r.kind, r.name); !slices.Contains(names, named) {
					names = append(names, named)
				}
			}
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Port is the port of a URL, or else that of its scheme.
func Port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443"}[u.Scheme]
}
