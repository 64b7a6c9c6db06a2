package appfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/workloads"
)

// server is a server that answers a question in its own protocol. All bytes of a question are ASCII, because a file of YAML has texts alone.
type server struct {
	names string // of the server, in the names of a port, a container or an image
	port  int32
	alone bool // the number says enough
	// ask is how it is asked: lines of the probe without its address, or the path of an HTTP server and such lines; none: the manifests do not say.
	ask func(d door) (why string, lines []string)
}

// once is the only lane of a server that takes its first message once on a connection.
const once = "lanes: [tcp]"

// fixed asks each server of a kind in the same way.
func fixed(why string, lines ...string) func(door) (string, []string) {
	return func(door) (string, []string) { return why, lines }
}

// unless asks each server of a kind in the same way, but one whose manifests have a text that makes another of it.
func unless(pattern, why string, lines ...string) func(door) (string, []string) {
	return func(d door) (string, []string) {
		if d.has(pattern) {
			return "", nil
		}
		return why, lines
	}
}

// servers are the known ones. Those that start a process, or write a line of a log, for each connection are asked at a low rate.
var servers = []server{
	{"redis|valkey|keydb|dragonfly", 6379, true, redis},
	{"postgres|postgresql|pg", 5432, false, postgres},
	{"memcached|memcache", 11211, true, fixed("memcached says its version.", `body: "version\r\n"`, "expect: {contains: VERSION}")},
	{"mysql|mariadb", 3306, true, fixed("MySQL and MariaDB greet each connection. One that counts clients which do not log in (max_connect_errors) needs skip-host-cache.",
		"expect: {contains: _password}", "rate: 20")},
	{"mongo|mongodb", 27017, true, fixed("MongoDB answers HTTP with a hint. Its own protocol has bytes that are no text.", "/", "expect: {contains: MongoDB}", "lanes: [fresh]")},
	{"rabbitmq|amqp", 5672, false, fixed("RabbitMQ answers the header of AMQP 0-9-1 with what it is.", `body: "AMQP\0\0\t\x01"`, "expect: {contains: RabbitMQ}", once, "rate: 20")},
	{"kafka|redpanda", 9092, false, fixed("Kafka says which versions it has (ApiVersions), before any login, and repeats the number of the question: hold.",
		`body: "\0\0\0\x12\0\x12\0\0hold\0\bholdfast"`, "expect: {contains: hold}")},
	{"nats", 4222, true, fixed("NATS greets each connection.", `expect: {contains: "INFO "}`)},
	{"zookeeper", 2181, true, fixed("ZooKeeper says its version while it is part of a quorum, and closes the connection.", "body: srvr", "expect: {contains: Zookeeper version}", once)},
	{"cassandra|scylla|cql", 9042, true, fixed("Cassandra says what it supports (OPTIONS), before any login.", `body: "\x04\0\0\0\x05\0\0\0\0"`, "expect: {contains: CQL_VERSION}")},
	{"etcd", 2379, false, unless("https://", "etcd says whether it is healthy.", "/health")},
	{"minio", 9000, false, fixed("MinIO says whether it is alive.", "/minio/health/live")},
	{"mqtt|mosquitto|emqx|vernemq|hivemq", 1883, true, fixed("MQTT says at once whether a client may connect (CONNACK). That it wants a password shows as much.",
		`body: "\x10\x0c\0\x04MQTT\x04\x02\0<\0\0"`, `expect: {contains: " \x02\0"}`, once, "rate: 20")},
	{"grafana", 3000, false, unless("SERVE_FROM_SUB_PATH", "Grafana says whether it is healthy.", "/api/health")},
	{"prometheus", 9090, false, unless(`web\.(route-prefix|external-url|config)`, "Prometheus says whether it is ready.", "/-/ready")},
	{"ollama", 11434, false, fixed("Ollama says that it runs.", "/")},
	{"smtp", 25, true, fixed("Servers of SMTP greet each connection.", `expect: {contains: "220"}`)},
}

// passesOn are programs in front of servers, or beside them: what is known of a server is not known of them.
var passesOn = regexp.MustCompile(`proxy|envoy|bouncer|pgpool|router|exporter|maxscale|sentinel`)

// isKnown reports whether the port is one of a known server.
func (d door) isKnown() bool {
	_, is := d.known()
	return is
}

// known is the probe of a known server that is asked without TLS.
func (d door) known() (p probe, is bool) {
	if d.tls() != "" || passesOn.MatchString(d.about) {
		return p, false
	}
	about := strings.ToLower(d.about + " " + d.workload.Name + " " + d.service.Name)
	for _, s := range servers {
		names := strings.Split(s.names, "|")
		called := slices.ContainsFunc(names, func(name string) bool { return strings.Contains(about, name) })
		isNamed := slices.Contains(names, strings.TrimPrefix(d.name, "tcp-")) || slices.Contains(names, strings.TrimPrefix(d.port.Name, "tcp-"))
		if !isNamed && (!d.numbered(s.port) || !s.alone && !called) {
			continue
		}
		why, lines := s.ask(d)
		if len(lines) == 0 {
			return p, false
		}
		how := "tcp: " + inYAML(d.address())
		if strings.HasPrefix(lines[0], "/") {
			how, lines = "url: "+inYAML("http://"+d.address()+lines[0]), lines[1:]
		}
		return probe{fmt.Sprintf("Port %d is known. %s", d.number, why), append([]string{how}, lines...)}, true
	}
	return p, false
}

// redis answers PING, or that a client must log in first.
func redis(d door) (why string, lines []string) {
	const question = `body: "PING\r\n"`
	told := d.has(`^(REDIS|VALKEY)_PASSWORD\w*=.|^REDISCLI_AUTH=.`) && !d.has(`^ALLOW_EMPTY_PASSWORD=(yes|true)`)
	locked := d.has(`(?m)^[^#\n]*requirepass`) || told && strings.Contains(d.about, "bitnami")
	switch {
	case d.has(`tls-port|_TLS_ENABLED=(yes|true)`), told && !locked: // the variable may be for clients alone
		return "", nil
	case locked:
		return "The server wants a password, and says so to a client without one, which shows as much as an answer to PING.", []string{question, `expect: {contains: "-NOAUTH"}`}
	}
	return "", []string{question, "expect: {contains: +PONG}"}
}

// postgres answers the first message of a client: with a challenge for its password, or with its settings if it trusts every client.
//
// Source: https://www.postgresql.org/docs/current/protocol-message-formats.html
func postgres(d door) (why string, lines []string) {
	expect := "SCRAM-SHA-256"
	if hashes.MatchString(d.about) {
		expect = `"R\0\0\0\x0c\0\0\0\x05"` // AuthenticationMD5Password
	}
	switch {
	case d.has("pg_hba|POSTGRES_INITDB_ARGS|password_encryption|^ALLOW_EMPTY_PASSWORD"):
		return "", nil
	case d.has("^POSTGRES_HOST_AUTH_METHOD=trust") && !d.has("^POSTGRES_USER="):
		expect = "server_version"
	case d.has("^POSTGRES_HOST_AUTH_METHOD=") || !d.has("^POSTGRES(QL)?_PASSWORD") || !challenges.MatchString(d.about) && !hashes.MatchString(d.about):
		return "", nil
	}
	return "PostgreSQL answers the first message of a client, which says who it is. It starts a process for each connection.", []string{
		`body: "\0\0\0\x17\0\x03\0\0user\0postgres\0\0"`, "expect: {contains: " + expect + "}", once, "rate: 20",
	}
}

// challenges are the images of PostgreSQL that want passwords by SCRAM; a tag without a number is a recent one. Those before, hashes, want them by MD5.
var (
	challenges = regexp.MustCompile(`postgres(ql)?(@|$|:[^\d/]|:v?(1[4-9]|[2-9]\d))`)
	hashes     = regexp.MustCompile(`postgres(ql)?:v?(9\.|1[0-3]($|\D))`)
)

// has reports whether a text is in the commands of the pods, in their environment as NAME=VALUE, or in the ConfigMaps and Secrets of the manifests
// that they read.
func (d door) has(pattern string) bool {
	var texts []string
	for _, c := range d.workload.Running() {
		texts = slices.Concat(texts, c.Command, c.Args)
		for _, e := range c.Env {
			if e.ValueFrom != nil {
				e.Value = "(from elsewhere)"
			}
			texts = append(texts, e.Name+"="+e.Value)
		}
	}
	for _, c := range workloads.ConfigsOf(d.workload.Template) {
		texts = append(texts, d.texts[c.String()]...)
	}
	return slices.ContainsFunc(texts, regexp.MustCompile(pattern).MatchString)
}

// configure keeps what the ConfigMaps and Secrets of the manifests have, as NAME=VALUE and as it is.
func (g *guesser) configure() {
	for _, m := range g.Manifests {
		if kind := m.Object.GetKind(); kind != "ConfigMap" && kind != "Secret" {
			continue
		}
		at := m.Object.GetKind() + " " + m.Object.GetName()
		for _, field := range []string{"data", "stringData"} {
			content, _, _ := unstructured.NestedStringMap(m.Object.Object, field)
			for key, text := range content {
				g.texts[at] = append(g.texts[at], key+"="+text, text)
			}
		}
	}
}
