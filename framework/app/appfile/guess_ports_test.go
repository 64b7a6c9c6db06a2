package appfile_test

import "testing"

// A path is asked at the port at which the kubelet asks for it, and at no other.
func TestPathsAreThoseOfTheirPorts(t *testing.T) {
	const ports = "ports: [{name: http, containerPort: 8080}, {name: management, containerPort: 8081}], "
	const management = "readinessProbe: {httpGet: {path: /actuator/health, port: management}}"
	const byNumber = "readinessProbe: {httpGet: {path: /actuator/health, port: 8081}}"
	checkGuesses(t, map[string]string{
		"of a port that the Service has not, by name":   deployment("web", "{name: c, image: i, "+ports+management+"}") + serviceOf("web", "{name: http, port: 80, targetPort: http}"),
		"of a port that the Service has not, by number": deployment("web", "{name: c, image: i, "+byNumber+"}") + serviceOf("web", "{port: 80, targetPort: 8080}"),
		"of another port of the Service":                deployment("web", "{name: c, image: i, "+ports+byNumber+"}") + serviceOf("web", "{name: http, port: 80, targetPort: http}, {name: management, port: 81, targetPort: management}"),
		"of a container that shares its network": deployment("web", "{name: c, image: i, readinessProbe: {httpGet: {path: /of-the-proxy, port: 9000}}}, {name: proxy, image: i, ports: [{name: in, containerPort: 9000}]}") +
			serviceOf("web", "{port: 80, targetPort: in}"),
		"of a sidecar": deployment("web", "{name: c, image: i}], initContainers: [{name: proxy, image: i, restartPolicy: Always, ports: [{name: in, containerPort: 9000}], "+
			"readinessProbe: {httpGet: {path: /of-the-proxy, port: in}}}") + serviceOf("web", "{port: 80, targetPort: in}"),
		"gRPC of another port":  deployment("web", "{name: c, image: i, "+ports+"readinessProbe: {grpc: {port: 8081}}}") + serviceOf("web", "{name: http, port: 80, targetPort: http}"),
		"of another host":       deployment("web", "{name: c, image: i, readinessProbe: {httpGet: {path: /elsewhere, port: 8080, host: 10.0.0.1}}}") + serviceOf("web", "{port: 8080}"),
		"of a liveness probe":   deployment("web", "{name: c, image: i, readinessProbe: {tcpSocket: {port: 8080}}, livenessProbe: {httpGet: {path: /live, port: 8080}}}") + serviceOf("web", "{port: 8080}"),
		"of a startup probe":    deployment("web", "{name: c, image: i, startupProbe: {httpGet: {path: /started, port: 8080}}, livenessProbe: {httpGet: {path: /live, port: 8080}}}") + serviceOf("web", "{port: 8080}"),
		"that YAML would break": deployment("web", `{name: c, image: i, readinessProbe: {httpGet: {path: "/ready?a=b: c", port: 8080}}}`) + serviceOf("web", "{port: 8080}"),
		"with a comment":        deployment("web", `{name: c, image: i, readinessProbe: {httpGet: {path: "/a b #1", port: 8080}}}`) + serviceOf("web", "{port: 8080}"),
	})
}

func TestTLS(t *testing.T) {
	ready := func(probe string) string {
		return deployment("web", "{name: c, image: i, ports: [{name: in, containerPort: 9000}], readinessProbe: {httpGet: {path: /healthz, port: in"+probe+"}}}")
	}
	plain := deployment("web", "{name: c, image: i, ports: [{name: in, containerPort: 9000}, {name: http, containerPort: 9001}]}")
	checkGuesses(t, map[string]string{
		"as the kubelet asks":                         ready(", scheme: HTTPS") + serviceOf("web", "{port: 80, targetPort: in}"),
		"the kubelet asks without, whatever the name": ready("") + serviceOf("web", "{name: https, port: 443, targetPort: in}"),
		"by name":         plain + serviceOf("web", "{name: https-web, port: 80, targetPort: in}"),
		"by appProtocol":  plain + serviceOf("web", "{port: 80, targetPort: in, appProtocol: https}"),
		"by number":       plain + serviceOf("web", "{port: 443, targetPort: in}"),
		"by the pods'":    plain + serviceOf("web", "{port: 8000, targetPort: 8443}"),
		"ends before it":  plain + serviceOf("web", "{name: https, port: 443, targetPort: http}"),
		"a WebSocket":     plain + serviceOf("web", "{name: web, port: 443, targetPort: in, appProtocol: kubernetes.io/wss}"),
		"no name of HTTP": plain + serviceOf("web", "{name: httpd, port: 9000, targetPort: in}"),
	})
}

// Clients ask for no metrics.
func TestPortsOfClients(t *testing.T) {
	const ports = "ports: [{name: http-metrics, containerPort: 9090}, {name: grpc, containerPort: 9095}, {name: api, containerPort: 8080}]"
	web := deployment("web", "{name: c, image: i, "+ports+"}")
	more := func(name, spec string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {selector: {app: web}, " + spec + "}\n---\n"
	}
	checkGuesses(t, map[string]string{
		"metrics first":      web + serviceOf("web", "{name: http-metrics, port: 9090}, {name: http, port: 80, targetPort: api}"),
		"a name of the pods": web + serviceOf("web", "{name: first, port: 1, targetPort: http-metrics}, {name: http, port: 80, targetPort: api}"),
		"other words":        deployment("web", "{name: c, image: i}") + serviceOf("web", "{name: profile, port: 8080}") + more("scan", "ports: [{name: biometric, port: 8080}]") + more("bugs", "ports: [{name: debugger, port: 8080}]"),
		"profiles":           web + serviceOf("web", "{name: http-profiling, port: 6060}, {name: http, port: 80, targetPort: api}"),
		"what the kubelet asks goes before what nothing is known of": deployment("web", "{name: c, image: i, "+ports+", readinessProbe: {httpGet: {path: /ready, port: http-metrics}}}") + serviceOf("web", "{name: http-metrics, port: 3100, targetPort: http-metrics}, {name: grpc, port: 9095}"),
		"the agent of a proxy is not the proxy":                      deployment("web", "{name: c, image: i, readinessProbe: {httpGet: {path: /healthz/ready, port: 15021}}}") + serviceOf("web", "{name: status-port, port: 15021}, {name: http2, port: 80, targetPort: 8080}"),
		"metrics alone":                                              web + serviceOf("web", "{name: http, port: 80, targetPort: api}") + more("more", "ports: [{name: metrics, port: 9090}]"),
		"metrics alone of the only Service":                          web + serviceOf("web", "{name: metrics, port: 9090}"),
		"an exporter":                                                deployment("node-exporter", "{name: c, image: i}") + serviceOf("node-exporter", "{name: metrics, port: 9100}"),
		"the exporter beside a server": deployment("cache", "{name: redis, image: redis, ports: [{name: redis, containerPort: 6379}]}, {name: metrics, image: redis-exporter, ports: [{name: metrics, containerPort: 9121}]}") +
			serviceOf("cache", "{name: metrics, port: 9121, targetPort: metrics}"),
		"UDP":                               web + serviceOf("web", "{name: dns, port: 53, protocol: UDP}"),
		"SCTP":                              web + serviceOf("web", "{port: 38412, protocol: SCTP}"),
		"UDP and TCP":                       web + serviceOf("web", "{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}"),
		"a port of no name":                 web + serviceOf("web", "{port: 80, targetPort: nowhere}"),
		"no Service":                        web,
		"a headless Service":                web + more("db", "clusterIP: None, ports: [{port: 80, targetPort: api}]"),
		"a headless Service beside another": web + serviceOf("web", "{port: 80, targetPort: api}") + more("peers", "clusterIP: None, ports: [{port: 80, targetPort: api}]"),
		"a headless Service beside one of metrics": web + more("db", "clusterIP: None, ports: [{port: 5000}]") + more("db-metrics", "ports: [{port: 80, targetPort: 9100}]"),
		"no replicas": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: idle}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: idle}}\n  template: {metadata: {labels: {app: idle}}, spec: {containers: [{name: c, image: i}]}}\n---\n" +
			serviceOf("idle", "{port: 80}"),
	})
}

func TestGRPC(t *testing.T) {
	web := deployment("web", "{name: c, image: i}")
	exec := func(command string) string {
		return deployment("web", "{name: c, image: i, readinessProbe: {exec: {command: "+command+"}}}") + serviceOf("web", "{name: api, port: 80, targetPort: 9000}")
	}
	checkGuesses(t, map[string]string{
		"by name":             web + serviceOf("web", "{name: grpc-api, port: 9000}"),
		"by appProtocol":      web + serviceOf("web", "{port: 80, appProtocol: grpc}"),
		"at the end":          web + serviceOf("web", "{name: jaeger-grpc, port: 14250}"),
		"over TLS":            web + serviceOf("web", "{name: grpcs, port: 9000}"),
		"for browsers":        web + serviceOf("web", "{name: grpc-web, port: 8080}"),
		"by its health probe": exec(`[/bin/grpc_health_probe, "-addr=:9000", "-service=#orders"]`),
		"in a shell":          exec(`[sh, -c, "exec /bin/grpc-health-probe --addr localhost:9000 --tls --tls-no-verify"]`),
		"of another port":     exec(`[/bin/grpc_health_probe, "-addr=:9001"]`),
		"another command":     exec(`[/bin/health, "-addr=:9000"]`),
		"HTTP/2 without TLS":  web + serviceOf("web", "{port: 80, appProtocol: kubernetes.io/h2c}"),
	})
}

// The headers of a kubelet's probe are sent as well. A probe has no Host of its own.
func TestHeaders(t *testing.T) {
	ready := func(headers string) string {
		return deployment("web", "{name: c, image: i, readinessProbe: {httpGet: {path: /ready, port: 8080, httpHeaders: ["+headers+"]}}}") + serviceOf("web", "{port: 8080}")
	}
	checkGuesses(t, map[string]string{
		"a cookie":            ready(`{name: cookie, value: "session=a: b"}, {name: X-Number, value: "1"}`),
		"a host":              ready("{name: host, value: shop.example.com}"),
		"a token in the path": deployment("web", `{name: c, image: i, readinessProbe: {httpGet: {path: "/-/readiness?token=hunter2", port: 8080}}}`) + serviceOf("web", "{port: 8080}"),
		"a user in the path":  deployment("web", `{name: c, image: i, livenessProbe: {httpGet: {path: "/live?x=1&apiKey=hunter2", port: 8080, scheme: HTTPS, httpHeaders: [{name: Host, value: a.example.com}]}}}`) + serviceOf("web", "{port: 8080}"),
		"a token":             ready("{name: authorization, value: Bearer hunter2}"),
		"a key":               ready("{name: X-Number, value: '1'}, {name: X-Api-Key, value: hunter2}"),
		"a secret cookie":     ready("{name: Cookie, value: auth_token=hunter2}"),
		"the client's own":    ready("{name: Connection, value: close}"),
	})
}
