package appguess

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// client is what an Ingress or an HTTPRoute says of how clients ask a Service.
type client struct {
	front   string // such as Ingress shop
	host    string // empty: any
	path    string // the beginning of the paths; empty: it is not known at which path the Service is asked
	service string
	port    backendPort // the zero value: any
	// url is that of the host, without a path; empty: no controller of the manifests answers there.
	url string
}

// backendPort is a port of a Service, by its number or its name.
type backendPort struct {
	Number int32
	Name   string
}

// of reports whether the client's requests come to a port of its Service.
func (c client) of(p corev1.ServicePort) bool {
	return c.port == backendPort{} || c.port.Number == p.Port || c.port.Name != "" && c.port.Name == p.Name
}

// leads reports whether a request for a path of the client's host comes to the Service, through a controller of the manifests.
func (d door) leads(path string) bool {
	if d.client == nil || d.client.url == "" {
		return false
	}
	f, is := d.FrontOf(d.client.url + path)
	return is && slices.Contains(f.Backends, d.service.Name)
}

// route is what is read of an Ingress and of an HTTPRoute.
type route struct {
	Spec struct {
		Hostnames []string
		TLS       []struct{ Hosts []string }
		Rules     []struct {
			Host string
			HTTP struct {
				Paths []struct {
					Path    string
					Backend struct {
						Service struct {
							Name string
							Port backendPort
						}
					}
				}
			}
			Matches     []struct{ Path struct{ Value string } }
			Filters     []any
			BackendRefs []struct {
				Name string
				Port int32
			}
		}
	}
}

// classes are the kinds of objects that a controller brings with it for each kind of front.
var classes = map[string]string{
	"Ingress.networking.k8s.io": "IngressClass", "HTTPRoute.gateway.networking.k8s.io": "GatewayClass",
}

// clientsOf are the ways in which the Ingresses and HTTPRoutes of an application lead clients to its Services.
func clientsOf(a app.App) (all []client) {
	kinds := map[string]bool{}
	for _, m := range a.All() {
		kinds[m.Object.GetKind()] = true
	}
	for _, m := range a.Manifests {
		class, is := classes[m.Object.GroupVersionKind().GroupKind().String()]
		var r route
		text, err := m.Object.MarshalJSON()
		if !is || m.Object.GetNamespace() != a.Namespace || err != nil || json.Unmarshal(text, &r) != nil { // the API server says what is wrong
			continue
		}
		for _, c := range r.clients(m) {
			c.front = m.Object.GetKind() + " " + m.Object.GetName()
			if kinds[class] && c.path != "" && c.host != "" && !strings.Contains(c.host, "*") {
				c.url = r.scheme(c.host) + "://" + c.host
				if f, is := a.FrontOf(c.url + c.path); !is || len(f.Entries)+len(f.Elsewhere) == 0 {
					c.url = ""
				}
			}
			all = append(all, c)
		}
	}
	return all
}

func (r route) clients(m app.Manifest) (all []client) {
	rewrites := slices.ContainsFunc(slices.Collect(maps.Keys(m.Object.GetAnnotations())), regexp.MustCompile("rewrite|middlewares").MatchString)
	for _, rule := range r.Spec.Rules {
		for _, p := range rule.HTTP.Paths {
			all = append(all, client{host: rule.Host, path: plain(p.Path, rewrites), service: p.Backend.Service.Name, port: p.Backend.Service.Port})
		}
		host, path := append(r.Spec.Hostnames, "")[0], "/"
		if len(rule.Matches) > 0 {
			path = rule.Matches[0].Path.Value
		}
		for _, b := range rule.BackendRefs {
			all = append(all, client{host: host, path: plain(path, len(rule.Filters) > 0), service: b.Name, port: backendPort{Number: b.Port}})
		}
	}
	return all
}

// plain is a path as the Service is asked for it, too; empty: it is an expression, or is rewritten.
func plain(path string, rewritten bool) string {
	path = strings.TrimSuffix(path, "*")
	if rewritten || strings.ContainsAny(path, "()[]{}^$|*+?\\") {
		return ""
	}
	return (&url.URL{Path: "/" + strings.TrimPrefix(path, "/")}).String()
}

func (r route) scheme(host string) string {
	if slices.ContainsFunc(r.Spec.TLS, func(t struct{ Hosts []string }) bool { return len(t.Hosts) == 0 || slices.Contains(t.Hosts, host) }) {
		return "https"
	}
	return "http"
}
