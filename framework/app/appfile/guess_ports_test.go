package appfile_test

import "testing"

// A path is asked at the port at which the kubelet asks for it, and at no other.
func TestPathsAreThoseOfTheirPorts(t *testing.T) {
	const ports = "ports: [{name: http, containerPort: 8080}, {name: management, containerPort: 8081}], "
	const management = "readinessProbe: {httpGet: {path: /actuator/health, port: management}}"
	const byNumber = "readinessProbe: {httpGet: {path: /actuator/health, port: 8081}}"
	for name, g := range map[string]guess{
		"of a port that the Service has not, by name": {
			deployment("web", "{name: c, image: i, "+ports+management+"}") + serviceOf("web", "{name: http, port: 80, targetPort: http}"),
			[]string{"url: http://web:80/\n", "Nothing says which path answers with status 200. The readiness probe asks port management."}, []string{"/actuator"},
		},
		"of a port that the Service has not, by number": {
			deployment("web", "{name: c, image: i, "+byNumber+"}") + serviceOf("web", "{port: 80, targetPort: 8080}"),
			[]string{"url: http://web:80/\n", "The readiness probe asks port 8081."}, []string{"/actuator"},
		},
		"of another port of the Service": {
			deployment("web", "{name: c, image: i, "+ports+byNumber+"}") + serviceOf("web", "{name: http, port: 80, targetPort: http}, {name: management, port: 81, targetPort: management}"),
			[]string{"url: http://web:81/actuator/health\n"}, nil,
		},
		"of a container that shares its network": {
			deployment("web", "{name: c, image: i, readinessProbe: {httpGet: {path: /of-the-proxy, port: 9000}}}, {name: proxy, image: i, ports: [{name: in, containerPort: 9000}]}") +
				serviceOf("web", "{port: 80, targetPort: in}"),
			[]string{"url: http://web:80/of-the-proxy\n"}, nil,
		},
		"of a sidecar": {
			deployment("web", "{name: c, image: i}], initContainers: [{name: proxy, image: i, restartPolicy: Always, ports: [{name: in, containerPort: 9000}], "+
				"readinessProbe: {httpGet: {path: /of-the-proxy, port: in}}}") + serviceOf("web", "{port: 80, targetPort: in}"),
			[]string{"url: http://web:80/of-the-proxy\n"}, nil,
		},
		"gRPC of another port": {
			deployment("web", "{name: c, image: i, "+ports+"readinessProbe: {grpc: {port: 8081}}}") + serviceOf("web", "{name: http, port: 80, targetPort: http}"),
			[]string{"url: http://web:80/\n", "The readiness probe asks port 8081."}, []string{"grpc:"},
		},
		"of another host": {
			deployment("web", "{name: c, image: i, readinessProbe: {httpGet: {path: /elsewhere, port: 8080, host: 10.0.0.1}}}") + serviceOf("web", "{port: 8080}"),
			[]string{"url: http://web:8080/\n"}, []string{"elsewhere"},
		},
		"of a liveness probe": {
			deployment("web", "{name: c, image: i, readinessProbe: {tcpSocket: {port: 8080}}, livenessProbe: {httpGet: {path: /live, port: 8080}}}") + serviceOf("web", "{port: 8080}"),
			[]string{"The liveness probe of container c asks for this path.", "url: http://web:8080/live\n"}, nil,
		},
		"of a startup probe": {
			deployment("web", "{name: c, image: i, startupProbe: {httpGet: {path: /started, port: 8080}}, livenessProbe: {httpGet: {path: /live, port: 8080}}}") + serviceOf("web", "{port: 8080}"),
			[]string{"url: http://web:8080/started\n"}, nil,
		},
		"that YAML would break": {
			deployment("web", `{name: c, image: i, readinessProbe: {httpGet: {path: "/ready?a=b: c", port: 8080}}}`) + serviceOf("web", "{port: 8080}"),
			[]string{"url: http://web:8080/ready?a=b:%20c\n"}, nil,
		},
		"with a comment": {
			deployment("web", `{name: c, image: i, readinessProbe: {httpGet: {path: "/a b #1", port: 8080}}}`) + serviceOf("web", "{port: 8080}"),
			[]string{"url: http://web:8080/a%20b%20\n"}, nil,
		},
	} {
		t.Run(name, g.check)
	}
}

func TestTLS(t *testing.T) {
	const trusted = "\n    tls: {unverified: true}\n"
	ready := func(probe string) string {
		return deployment("web", "{name: c, image: i, ports: [{name: in, containerPort: 9000}], readinessProbe: {httpGet: {path: /healthz, port: in"+probe+"}}}")
	}
	plain := deployment("web", "{name: c, image: i, ports: [{name: in, containerPort: 9000}, {name: http, containerPort: 9001}]}")
	for name, g := range map[string]guess{
		"as the kubelet asks": {ready(", scheme: HTTPS") + serviceOf("web", "{port: 80, targetPort: in}"), []string{"url: https://web:80/healthz" + trusted}, nil},
		"the kubelet asks without, whatever the name": {
			ready("") + serviceOf("web", "{name: https, port: 443, targetPort: in}"), []string{"url: http://web:443/healthz\n"}, []string{"tls:"},
		},
		"by name":         {plain + serviceOf("web", "{name: https-web, port: 80, targetPort: in}"), []string{"Port 80 is named https-web.", "url: https://web:80/" + trusted}, nil},
		"by appProtocol":  {plain + serviceOf("web", "{port: 80, targetPort: in, appProtocol: https}"), []string{"Port 80 has appProtocol https.", "url: https://web:80/" + trusted}, nil},
		"by number":       {plain + serviceOf("web", "{port: 443, targetPort: in}"), []string{"url: https://web:443/" + trusted}, nil},
		"by the pods'":    {plain + serviceOf("web", "{port: 8000, targetPort: 8443}"), []string{"url: https://web:8000/" + trusted}, nil},
		"ends before it":  {plain + serviceOf("web", "{name: https, port: 443, targetPort: http}"), []string{"url: http://web:443/\n"}, []string{"tls:"}},
		"a WebSocket":     {plain + serviceOf("web", "{name: web, port: 443, targetPort: in, appProtocol: kubernetes.io/wss}"), []string{"url: wss://web:443/\n", trusted}, nil},
		"no name of HTTP": {plain + serviceOf("web", "{name: httpd, port: 9000, targetPort: in}"), []string{"tcp: web:9000\n"}, nil},
	} {
		t.Run(name, g.check)
	}
}

// Clients ask for no metrics.
func TestPortsOfClients(t *testing.T) {
	const ports = "ports: [{name: http-metrics, containerPort: 9090}, {name: grpc, containerPort: 9095}, {name: api, containerPort: 8080}]"
	web := deployment("web", "{name: c, image: i, "+ports+"}")
	more := func(name, spec string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {selector: {app: web}, " + spec + "}\n---\n"
	}
	for name, g := range map[string]guess{
		"metrics first":      {web + serviceOf("web", "{name: http-metrics, port: 9090}, {name: http, port: 80, targetPort: api}"), []string{"url: http://web:80/\n"}, []string{"9090"}},
		"a name of the pods": {web + serviceOf("web", "{name: first, port: 1, targetPort: http-metrics}, {name: http, port: 80, targetPort: api}"), []string{"url: http://web:80/\n"}, nil},
		"other words":        {deployment("web", "{name: c, image: i}") + serviceOf("web", "{name: profile, port: 8080}") + more("scan", "ports: [{name: biometric, port: 8080}]") + more("bugs", "ports: [{name: debugger, port: 8080}]"), []string{"url: http://web:8080/\n", "url: http://scan:8080/\n", "url: http://bugs:8080/\n"}, []string{"is not asked"}},
		"profiles":           {web + serviceOf("web", "{name: http-profiling, port: 6060}, {name: http, port: 80, targetPort: api}"), []string{"url: http://web:80/\n"}, nil},
		"what the kubelet asks goes before what nothing is known of": {
			deployment("web", "{name: c, image: i, "+ports+", readinessProbe: {httpGet: {path: /ready, port: http-metrics}}}") + serviceOf("web", "{name: http-metrics, port: 3100, targetPort: http-metrics}, {name: grpc, port: 9095}"),
			[]string{"url: http://web:3100/ready\n"}, nil,
		},
		"the agent of a proxy is not the proxy": {
			deployment("web", "{name: c, image: i, readinessProbe: {httpGet: {path: /healthz/ready, port: 15021}}}") + serviceOf("web", "{name: status-port, port: 15021}, {name: http2, port: 80, targetPort: 8080}"),
			[]string{"url: http://web:80/\n", "lanes: [h2c-fresh, h2c]"}, []string{"web:15021"},
		},
		"metrics alone": {
			web + serviceOf("web", "{name: http, port: 80, targetPort: api}") + more("more", "ports: [{name: metrics, port: 9090}]"),
			[]string{"url: http://web:80/\n", "# Service more is not asked: by its name, its port 9090 is for metrics or debugging"}, []string{"name: more"},
		},
		"metrics alone of the only Service": {web + serviceOf("web", "{name: metrics, port: 9090}"), []string{"Service web is not asked", none}, []string{"9090/"}},
		"an exporter": {
			deployment("node-exporter", "{name: c, image: i}") + serviceOf("node-exporter", "{name: metrics, port: 9100}"), []string{"url: http://node-exporter:9100/metrics\n"}, []string{"Nothing says which"},
		},
		"the exporter beside a server": {
			deployment("cache", "{name: redis, image: redis, ports: [{name: redis, containerPort: 6379}]}, {name: metrics, image: redis-exporter, ports: [{name: metrics, containerPort: 9121}]}") +
				serviceOf("cache", "{name: metrics, port: 9121, targetPort: metrics}"), []string{"Service cache is not asked", none}, nil,
		},
		"UDP":                {web + serviceOf("web", "{name: dns, port: 53, protocol: UDP}"), []string{"Service web is not asked: its port 53 takes UDP", none}, nil},
		"SCTP":               {web + serviceOf("web", "{port: 38412, protocol: SCTP}"), []string{"its port 38412 takes SCTP", none}, nil},
		"UDP and TCP":        {web + serviceOf("web", "{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}"), []string{"tcp: web:53\n"}, nil},
		"a port of no name":  {web + serviceOf("web", "{port: 80, targetPort: nowhere}"), []string{"its port 80 leads to port nowhere, which no container of Deployment web names", none}, nil},
		"no Service":         {web, []string{"Nothing can be asked: no Service that clients use leads to Deployment web.", none}, nil},
		"a headless Service": {web + more("db", "clusterIP: None, ports: [{port: 80, targetPort: api}]"), []string{"url: http://db:8080/\n"}, nil},
		"a headless Service beside another": {
			web + serviceOf("web", "{port: 80, targetPort: api}") + more("peers", "clusterIP: None, ports: [{port: 80, targetPort: api}]"), []string{"url: http://web:80/\n"}, []string{"peers"},
		},
		"a headless Service beside one of metrics": {
			web + more("db", "clusterIP: None, ports: [{port: 5000}]") + more("db-metrics", "ports: [{port: 80, targetPort: 9100}]"), []string{"tcp: db:5000\n", "Service db-metrics is not asked"}, nil,
		},
		"no replicas": {
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: idle}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: idle}}\n  template: {metadata: {labels: {app: idle}}, spec: {containers: [{name: c, image: i}]}}\n---\n" +
				serviceOf("idle", "{port: 80}"), []string{"Service idle is not asked: Deployment idle has no replicas", none}, nil,
		},
	} {
		t.Run(name, g.check)
	}
}

func TestGRPC(t *testing.T) {
	web := deployment("web", "{name: c, image: i}")
	exec := func(command string) string {
		return deployment("web", "{name: c, image: i, readinessProbe: {exec: {command: "+command+"}}}") + serviceOf("web", "{name: api, port: 80, targetPort: 9000}")
	}
	for name, g := range map[string]guess{
		"by name":             {web + serviceOf("web", "{name: grpc-api, port: 9000}"), []string{"grpc: web:9000\n", "name one of its methods with call"}, nil},
		"by appProtocol":      {web + serviceOf("web", "{port: 80, appProtocol: grpc}"), []string{"Port 80 has appProtocol grpc.", "grpc: web:80\n"}, nil},
		"at the end":          {web + serviceOf("web", "{name: jaeger-grpc, port: 14250}"), []string{"grpc: web:14250\n"}, nil},
		"over TLS":            {web + serviceOf("web", "{name: grpcs, port: 9000}"), []string{"grpc: web:9000\n    tls: {unverified: true}\n"}, nil},
		"for browsers":        {web + serviceOf("web", "{name: grpc-web, port: 8080}"), []string{"url: http://web:8080/\n"}, nil},
		"by its health probe": {exec(`[/bin/grpc_health_probe, "-addr=:9000", "-service=#orders"]`), []string{"The readiness probe of container c asks the health service.", "grpc: web:80\n", "service: '#orders'"}, nil},
		"in a shell":          {exec(`[sh, -c, "exec /bin/grpc-health-probe --addr localhost:9000 --tls --tls-no-verify"]`), []string{"grpc: web:80\n    tls: {unverified: true}\n"}, nil},
		"of another port":     {exec(`[/bin/grpc_health_probe, "-addr=:9001"]`), []string{"url: http://web:80/\n"}, []string{"grpc:"}},
		"another command":     {exec(`[/bin/health, "-addr=:9000"]`), []string{"url: http://web:80/\n"}, nil},
		"HTTP/2 without TLS":  {web + serviceOf("web", "{port: 80, appProtocol: kubernetes.io/h2c}"), []string{"url: http://web:80/\n    lanes: [h2c-fresh, h2c]\n"}, nil},
	} {
		t.Run(name, g.check)
	}
}

// The headers of a kubelet's probe are sent as well. A probe has no Host of its own.
func TestHeaders(t *testing.T) {
	ready := func(headers string) string {
		return deployment("web", "{name: c, image: i, readinessProbe: {httpGet: {path: /ready, port: 8080, httpHeaders: ["+headers+"]}}}") + serviceOf("web", "{port: 8080}")
	}
	for name, g := range map[string]guess{
		"a cookie": {ready(`{name: cookie, value: "session=a: b"}, {name: X-Number, value: "1"}`), []string{"url: http://web:8080/ready\n", `headers: {Cookie: 'session=a: b', X-Number: "1"}`}, nil},
		"a host":   {ready("{name: host, value: shop.example.com}"), []string{"tcp: web:8080\n", "asks for /ready with the header Host: shop.example.com, which the probe of a Service cannot send"}, []string{"headers:", "    url:"}},
		"a token in the path": {
			deployment("web", `{name: c, image: i, readinessProbe: {httpGet: {path: "/-/readiness?token=hunter2", port: 8080}}}`) + serviceOf("web", "{port: 8080}"),
			[]string{"asks for a path that is not written down here: its URL has a value whose name says that it is secret", "tcp: web:8080\n"}, []string{"hunter2", "    url:"},
		},
		"a user in the path": {
			deployment("web", `{name: c, image: i, livenessProbe: {httpGet: {path: "/live?x=1&apiKey=hunter2", port: 8080, scheme: HTTPS, httpHeaders: [{name: Host, value: a.example.com}]}}}`) + serviceOf("web", "{port: 8080}"),
			[]string{"tcp: web:8080\n"}, []string{"hunter2"},
		},
		"a token":          {ready("{name: authorization, value: Bearer hunter2}"), []string{"with the header Authorization, whose value is not written down here: have it in a Secret, and use url: http://web:8080/ready with this header fromSecret.", "tcp: web:8080\n"}, []string{"hunter2", "    url:"}},
		"a key":            {ready("{name: X-Number, value: '1'}, {name: X-Api-Key, value: hunter2}"), []string{"tcp: web:8080\n"}, []string{"hunter2"}},
		"a secret cookie":  {ready("{name: Cookie, value: auth_token=hunter2}"), []string{"tcp: web:8080\n"}, []string{"hunter2"}},
		"the client's own": {ready("{name: Connection, value: close}"), []string{"url: http://web:8080/ready\n"}, []string{"headers:"}},
	} {
		t.Run(name, g.check)
	}
}
