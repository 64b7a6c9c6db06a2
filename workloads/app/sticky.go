package app

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// hashing are annotations of Ingresses by which a controller chooses a pod by what all requests of a probe have in common, such as the address of the
// client or the path, with the beginnings of the values that do. A cookie does not: the requests of a probe carry none.
//
// Source: the lists of annotations of ingress-nginx, of the controllers of NGINX and HAProxy, and of haproxy-ingress
var hashing = map[string][]string{
	"nginx.ingress.kubernetes.io/upstream-hash-by": {""},
	"nginx.org/lb-method":                          {"ip_hash", "hash"},
	"haproxy.org/load-balance":                     {"source", "uri", "url_param", "hdr"},
	"haproxy-ingress.github.io/balance-algorithm":  {"source", "uri", "url_param", "hdr"},
}

// StickyIngress says why an Ingress with some annotations leads all requests of a probe to the same pod; empty: nothing says so.
func StickyIngress(annotations map[string]string) string {
	for name, beginnings := range hashing {
		value, is := annotations[name]
		for _, b := range beginnings {
			if is && value != "" && strings.HasPrefix(value, b) && !strings.Contains(value, "$request_id") { // which is another one for each request
				return name + ": " + value
			}
		}
	}
	return ""
}

// StickyService is StickyIngress for a Service.
func StickyService(name string, spec corev1.ServiceSpec) string {
	if spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return ""
	}
	return "sessionAffinity ClientIP of Service " + name
}
