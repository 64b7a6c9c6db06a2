package appfile

import (
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// client is what an Ingress or an HTTPRoute says of how clients ask a Service.
type client struct {
	front   string // such as Ingress shop
	host    string // empty: any
	path    string // the beginning of the paths; empty: it is not known at which path the Service is asked
	service string
	port    intstr.IntOrString // of the Service; the zero value: any
	// url is that of the host, without a path; empty: no controller of the manifests answers there.
	url string
}

// of reports whether the client's requests come to a port of its Service.
func (c client) of(p corev1.ServicePort) bool {
	return c.port == intstr.IntOrString{} || c.port == intstr.FromInt32(p.Port) || c.port == intstr.FromString(p.Name)
}

// leads reports whether a request for a path of the client's host comes to the Service, through a controller of the manifests.
func (d door) leads(path string) bool {
	if d.client == nil || d.client.url == "" {
		return false
	}
	f, is := d.FrontOf(d.client.url + path)
	return is && slices.Contains(f.Backends, d.service.Name)
}

// classes are the kinds of objects that a controller brings with it for each kind of front.
var classes = map[string]string{"Ingress": "IngressClass", "HTTPRoute": "GatewayClass"}

// clientsOf are the ways in which the Ingresses and HTTPRoutes of an application lead clients to its Services.
func clientsOf(a app.App) (all []client) {
	kinds := map[string]bool{}
	for _, m := range a.All() {
		kinds[m.Object.GetKind()] = true
	}
	for _, w := range a.Ways() {
		c := client{front: w.Kind + " " + w.Name, host: w.Host, path: plain(w.Path, w.Rewrites), service: w.Service, port: w.Port}
		if kinds[classes[w.Kind]] && c.path != "" && c.host != "" && !strings.Contains(c.host, "*") {
			c.url = map[bool]string{true: "https", false: "http"}[w.TLS] + "://" + c.host
			if f, is := a.FrontOf(c.url + c.path); !is || len(f.Entries)+len(f.Elsewhere) == 0 {
				c.url = ""
			}
		}
		all = append(all, c)
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
