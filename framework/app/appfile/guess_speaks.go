package appfile

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// unverified trusts any certificate: that of a server inside of a cluster is seldom one of a public authority.
const unverified = "tls: {unverified: true}"

// guess is the probe of a port. What a kubelet asks it says best how the server is asked; its names, the server and its number come next.
func (d door) guess() probe {
	if words := d.named(webSockets); words != "" {
		return d.socket(words)
	}
	switch {
	case len(d.asked) > 0 && d.asked[0].grpc:
		return d.health(fmt.Sprintf("The %s probe of container %s asks the health service.", d.asked[0].probe, d.asked[0].container), d.asked[0])
	case len(d.asked) > 0:
		return d.like(d.asked[0])
	}
	if p, is := d.known(); is {
		return p
	}
	tls := d.tls()
	if words := d.named(grpcs); words != "" && d.named(grpcWeb) == "" {
		return d.health(words+". Nothing says whether the server has the health service: if it has not, name one of its methods with call.", ask{tls: tls != ""})
	}
	words := d.named(http2)
	switch {
	case d.client == nil && webhook.MatchString(d.service.Name+" "+d.port.Name):
		return d.accepts("It is named a webhook, which takes requests of its own kind, at paths that no manifest names.")
	case len(d.clients) == 0 && gateway.MatchString(d.about):
		p := d.page(map[bool]string{true: "https", false: "http"}[tls != ""], "A gateway without a route answers with status 404.")
		p.lines = append(p.lines, "expect: {status: [404]}")
		return p
	case tls != "":
		return d.page("https", tls+".")
	case words != "":
		return d.page("http", words+": HTTP/2 without TLS.", "lanes: [h2c-fresh, h2c]")
	case d.named(web) != "" || d.numbered(80, 8080) || d.metrics() || d.client != nil:
		return d.page("http", fmt.Sprintf("Guessed from port %d.", d.port.Port))
	}
	return d.accepts(fmt.Sprintf("Nothing says what port %d answers.", d.port.Port))
}

var (
	webhook = regexp.MustCompile(`webhook`)
	gateway = regexp.MustCompile(`traefik|ingress-nginx|nginx-ingress|kubernetes-ingress|haproxy-ingress|kong\b|apisix|skipper`)
)

// accepts is the probe of a server of which nothing is known but that it takes connections.
func (d door) accepts(why string) probe {
	return probe{why + " A connection that is accepted counts as an answer.", []string{"tcp: " + inYAML(d.address())}}
}

func (d door) socket(words string) probe {
	url, more := "ws://"+d.address()+"/", []string{`# send: '{"type":"ping"}'`, "# expect: {contains: pong}"}
	if d.tls() != "" {
		url, more = "wss://"+d.address()+"/", append(more, unverified)
	}
	return probe{words + ": WebSockets. Nothing says at which path, and which message is answered: send and expect.", append([]string{"url: " + inYAML(url)}, more...)}
}

// health is the probe of a gRPC server.
func (d door) health(why string, one ask) probe {
	p := probe{why, []string{"grpc: " + inYAML(d.address())}}
	if one.service != "" {
		p.lines = append(p.lines, "service: "+inYAML(one.service))
	}
	if one.tls {
		p.lines = append(p.lines, unverified)
	}
	return p
}

// page is the probe of a web server that no kubelet asks at this port.
func (d door) page(scheme, why string, more ...string) probe {
	path, unknown := "/", " Nothing says which path answers with status 200."
	switch {
	case d.client != nil:
		path, unknown = cmp.Or(d.client.path, path), fmt.Sprintf(" %s leads clients here. Nothing says whether this path answers with status 200.", d.client.front)
	case d.metrics():
		path, unknown = "/metrics", ""
	}
	if d.other != "" {
		unknown += fmt.Sprintf(" The readiness probe asks port %s.", d.other)
	}
	return d.at(scheme, path, why+unknown, more...)
}

// at is the probe of a path: at the host that clients use, if a controller of the manifests answers there, or else at the Service, with more lines.
func (d door) at(scheme, path, why string, more ...string) probe {
	url := scheme + "://" + d.address() + path
	if d.leads(path) {
		url, more = d.client.url+path, nil
	}
	p := probe{why, []string{"url: " + inYAML(url)}}
	if strings.HasPrefix(url, "https:") {
		p.lines = append(p.lines, unverified)
	}
	p.lines = append(p.lines, more...)
	return p
}

// like is the probe that asks what a kubelet asks over HTTP.
func (d door) like(one ask) probe {
	asks := fmt.Sprintf("The %s probe of container %s asks for ", one.probe, one.container)
	scheme, path, next := strings.ToLower(cmp.Or(string(one.http.Scheme), "http")), pathOf(one.http.Path), "A path that clients use shows more."
	if d.client != nil {
		next = fmt.Sprintf("%s leads clients to %s.", d.client.front, d.client.host+d.client.path)
	}
	if _, err := app.ParsePublicURL(scheme + "://" + d.address() + path); err != nil {
		return d.accepts(fmt.Sprintf("%sa path that is not written down here: %v.", asks, err))
	}
	headers := map[string]string{}
	for _, h := range one.http.HTTPHeaders {
		name := http.CanonicalHeaderKey(h.Name)
		if app.IsSecretName(name) || name == "Cookie" && app.IsSecretName(h.Value) {
			return d.accepts(fmt.Sprintf("%s%s with the header %s, whose value is not written down here: have it in a Secret, and use url: %s://%s%s with this header fromSecret.",
				asks, path, name, scheme, d.address(), path))
		}
		if name == "Host" && (!d.leads(path) || d.client.host != h.Value) {
			return d.accepts(fmt.Sprintf("%s%s with the header Host: %s, which the probe of a Service cannot send. If the server answers to other hosts, use url: %s://%s%s.",
				asks, path, h.Value, scheme, d.address(), path))
		}
		if (request.Request{Headers: map[string]string{name: h.Value}}).Validate() == nil {
			headers[name] = h.Value
		}
	}
	p := d.at(scheme, path, asks+"this path. "+next)
	if len(headers) > 0 {
		p.lines = append(p.lines, "headers: "+inYAML(headers))
	}
	return p
}

// pathOf is the path of a kubelet's probe as it stands in a URL: kubelets write it in the same way.
func pathOf(path string) string {
	u, err := url.Parse("/" + strings.TrimPrefix(path, "/"))
	if err != nil {
		u = &url.URL{Path: path}
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = strings.ReplaceAll(u.RawQuery, " ", "%20")
	return u.String()
}
