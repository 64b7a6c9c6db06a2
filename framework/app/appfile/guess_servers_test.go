package appfile_test

import (
	"strings"
	"testing"
)

func TestKnownServers(t *testing.T) {
	of := func(name, image, port, more string) string {
		return deployment(name, "{name: c, image: '"+image+"'"+more+"}") + serviceOf(name, "{port: "+port+"}")
	}
	const password = ", env: [{name: POSTGRES_PASSWORD_FILE, value: /p}]"
	checkGuesses(t, map[string]string{
		"memcached":               of("cache", "memcached:1.6", "11211", ""),
		"MariaDB":                 of("db", "mariadb", "3306", ""),
		"MongoDB":                 of("db", "mongo:8", "27017", ""),
		"RabbitMQ":                of("mq", "rabbitmq:4", "5672", ""),
		"another broker":          of("mq", "activemq", "5672", ""),
		"Kafka":                   of("broker", "apache/kafka", "9092", ""),
		"not Kafka":               of("api", "shop", "9092", ""),
		"etcd":                    of("etcd", "quay.io/coreos/etcd", "2379", ""),
		"etcd over TLS":           of("etcd", "quay.io/coreos/etcd", "2379", `, args: ["--listen-client-urls=https://0.0.0.0:2379"]`),
		"MinIO":                   of("store", "minio/minio", "9000", ""),
		"port 9000 of another":    of("app", "sonarqube", "9000", ""),
		"ZooKeeper":               of("zk", "zookeeper", "2181", ""),
		"the peers' port of etcd": of("etcd", "quay.io/coreos/etcd", "2380, name: peer}, {name: client, port: 2379", ""),
		"what the kubelet asks":   of("mq", "rabbitmq:4", "15672, name: http}, {name: amqp, port: 5672", ", readinessProbe: {httpGet: {path: /ready, port: 15672}}"),
		"MQTT":                    of("broker", "eclipse-mosquitto:2", "1883", ""),
		"MQTT by its port's name": deployment("a", "{name: c, image: i}") + serviceOf("a", "{name: mqtt, port: 30183}"),
		"MQTT over TLS":           deployment("a", "{name: c, image: emqx}") + serviceOf("a", "{name: tls-mqtt, port: 1883}"),
		"Grafana":                 of("pages", "grafana/otel-lgtm", "3000", ""),
		"Grafana below a path":    of("pages", "grafana/grafana", "3000", ", env: [{name: GF_SERVER_SERVE_FROM_SUB_PATH, value: 'true'}]"),
		"Prometheus":              of("numbers", "prom/prometheus:v3", "9090", ""),
		"Prometheus below a path": of("numbers", "prom/prometheus:v3", "9090", ", args: [--web.external-url=http://example.com/numbers/]"),
		"Ollama":                  of("models", "ollama/ollama", "11434", ""),
		"Cassandra":               of("db", "cassandra:5", "9042", ""),
		"by its port's name":      deployment("a", "{name: c, image: i}") + serviceOf("a", "{name: tcp-memcached, port: 1111}"),
		"behind a proxy":          of("cache", "haproxy:3", "6379", ""),
		"with a web page":         of("cache", "redis-commander", "6379", ", readinessProbe: {httpGet: {path: /, port: 6379}}"),

		"a gateway":               of("door", "docker.io/traefik:v3", "80", ""),
		"a gateway over TLS":      of("door", "registry.k8s.io/ingress-nginx/controller", "443", ""),
		"a webhook":               of("shop-webhook", "operator", "443", ""),
		"a webhook by its port":   deployment("a", "{name: c, image: i}") + serviceOf("a", "{name: https-webhook, port: 443}"),
		"a webhook that is asked": of("shop-webhook", "operator", "443", ", readinessProbe: {httpGet: {path: /ok, port: 443, scheme: HTTPS}}"),

		"PostgreSQL":               of("db", "postgres:18-alpine", "5432", password),
		"PostgreSQL without a tag": of("db", "docker.io/bitnami/postgresql", "5432", ", env: [{name: POSTGRESQL_PASSWORD, value: p}]"),
		"an old PostgreSQL":        of("db", "postgres:9.6", "5432", password),
		"PostgreSQL 13":            of("db", "docker.io/bitnami/postgresql:13.4.0", "5432", ", env: [{name: POSTGRESQL_PASSWORD, value: p}]"),
		"an old one that trusts":   of("db", "postgres:11", "5432", ", env: [{name: POSTGRES_HOST_AUTH_METHOD, value: trust}]"),
		"an old one with SCRAM":    of("db", "postgres:12", "5432", `, args: [-c, password_encryption=scram-sha-256], env: [{name: POSTGRES_PASSWORD, value: p}]`),
		"PostgreSQL that trusts":   of("db", "postgres:18", "5432", ", env: [{name: POSTGRES_HOST_AUTH_METHOD, value: trust}]"),
		"PostgreSQL with MD5":      of("db", "postgres:18", "5432", ", env: [{name: POSTGRES_HOST_AUTH_METHOD, value: md5}]"),
		"PostgreSQL of its own":    of("db", "postgres:18", "5432", ""),
		"a pool of connections":    of("db", "pgbouncer", "5432", ""),
	})
}

// A Redis with a password answers that it wants one.
func TestRedis(t *testing.T) {
	of := func(more string) string {
		return deployment("cache", "{name: c, image: redis, ports: [{name: redis, containerPort: 6379}]"+more+"}") + serviceOf("cache", "{name: redis, port: 6379, targetPort: redis}")
	}
	mounts := func(config string) string {
		return deployment("cache", "{name: c, image: redis, volumeMounts: [{name: config, mountPath: /etc/redis}]}], volumes: [{name: config, configMap: {name: config}}") +
			serviceOf("cache", "{name: redis, port: 6379}") + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata:\n  redis.conf: |\n    " + config + "\n"
	}
	bitnami := func(text string) string {
		return strings.Replace(text, "image: redis", "image: docker.io/bitnami/redis:8", 1)
	}
	checkGuesses(t, map[string]string{
		"an argument":          of(`, args: [--requirepass, $(PASSWORD)]`),
		"in a shell":           of(`, command: [sh, -c, 'exec redis-server --requirepass "$(cat /secret)"']`),
		"of a Secret":          bitnami(of(`, env: [{name: REDIS_PASSWORD, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}]`)),
		"of a file":            bitnami(of(`, env: [{name: REDIS_PASSWORD_FILE, value: /secret}]`)),
		"of clients alone":     of(`, env: [{name: REDIS_PASSWORD, value: abc}]`),
		"of its own client":    of(`, env: [{name: REDISCLI_AUTH, value: abc}]`),
		"a variable for it":    of(`, args: [--requirepass, $(REDIS_PASSWORD)], env: [{name: REDIS_PASSWORD, value: abc}]`),
		"its configuration":    mounts("requirepass abc"),
		"a comment in it":      mounts("# requirepass foobared"),
		"none is allowed":      of(`, env: [{name: ALLOW_EMPTY_PASSWORD, value: "yes"}]`),
		"an empty password":    of(`, env: [{name: REDIS_PASSWORD, value: ""}]`),
		"none is allowed, too": of(`, env: [{name: ALLOW_EMPTY_PASSWORD, value: "yes"}, {name: REDIS_PASSWORD, value: ""}]`),
		"over TLS":             of(`, args: [--tls-port, "6379", --port, "0"]`),
	})
}
