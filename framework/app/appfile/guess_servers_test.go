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
	for name, g := range map[string]guess{
		"memcached":               {of("cache", "memcached:1.6", "11211", ""), []string{"tcp: cache:11211\n", `body: "version\r\n"`, "contains: VERSION"}, nil},
		"MariaDB":                 {of("db", "mariadb", "3306", ""), []string{"tcp: db:3306\n", "contains: _password"}, []string{"body:"}},
		"MongoDB":                 {of("db", "mongo:8", "27017", ""), []string{"url: http://db:27017/\n", "contains: MongoDB"}, nil},
		"RabbitMQ":                {of("mq", "rabbitmq:4", "5672", ""), []string{`body: "AMQP\0\0\t\x01"`, "contains: RabbitMQ", "lanes: [tcp]"}, nil},
		"another broker":          {of("mq", "activemq", "5672", ""), []string{"tcp: mq:5672\n"}, []string{"body:"}},
		"Kafka":                   {of("broker", "apache/kafka", "9092", ""), []string{`body: "\0\0\0\x12\0\x12\0\0hold\0\bholdfast"`, "contains: hold}"}, nil},
		"not Kafka":               {of("api", "shop", "9092", ""), []string{"tcp: api:9092\n"}, []string{"body:"}},
		"etcd":                    {of("etcd", "quay.io/coreos/etcd", "2379", ""), []string{"url: http://etcd:2379/health\n"}, nil},
		"etcd over TLS":           {of("etcd", "quay.io/coreos/etcd", "2379", `, args: ["--listen-client-urls=https://0.0.0.0:2379"]`), []string{"tcp: etcd:2379\n"}, []string{"    url:"}},
		"MinIO":                   {of("store", "minio/minio", "9000", ""), []string{"url: http://store:9000/minio/health/live\n"}, nil},
		"port 9000 of another":    {of("app", "sonarqube", "9000", ""), []string{"tcp: app:9000\n"}, nil},
		"ZooKeeper":               {of("zk", "zookeeper", "2181", ""), []string{"body: srvr", "lanes: [tcp]"}, nil},
		"the peers' port of etcd": {of("etcd", "quay.io/coreos/etcd", "2380, name: peer}, {name: client, port: 2379", ""), []string{"url: http://etcd:2379/health\n"}, []string{"2380"}},
		"what the kubelet asks":   {of("mq", "rabbitmq:4", "15672, name: http}, {name: amqp, port: 5672", ", readinessProbe: {httpGet: {path: /ready, port: 15672}}"), []string{"url: http://mq:15672/ready\n"}, []string{"5672\n"}},
		"MQTT":                    {of("broker", "eclipse-mosquitto:2", "1883", ""), []string{"tcp: broker:1883\n", `body: "\x10\x0c\0\x04MQTT\x04\x02\0<\0\0"`, `contains: " \x02\0"`, "lanes: [tcp]"}, nil},
		"MQTT by its port's name": {deployment("a", "{name: c, image: i}") + serviceOf("a", "{name: mqtt, port: 30183}"), []string{"tcp: a:30183\n", "MQTT"}, nil},
		"MQTT over TLS":           {deployment("a", "{name: c, image: emqx}") + serviceOf("a", "{name: tls-mqtt, port: 1883}"), []string{"https://a:1883/\n"}, []string{"body:"}},
		"Grafana":                 {of("pages", "grafana/otel-lgtm", "3000", ""), []string{"url: http://pages:3000/api/health\n"}, nil},
		"Grafana below a path":    {of("pages", "grafana/grafana", "3000", ", env: [{name: GF_SERVER_SERVE_FROM_SUB_PATH, value: 'true'}]"), []string{"tcp: pages:3000\n"}, nil},
		"Prometheus":              {of("numbers", "prom/prometheus:v3", "9090", ""), []string{"url: http://numbers:9090/-/ready\n"}, nil},
		"Prometheus below a path": {of("numbers", "prom/prometheus:v3", "9090", ", args: [--web.external-url=http://example.com/numbers/]"), []string{"tcp: numbers:9090\n"}, nil},
		"Ollama":                  {of("models", "ollama/ollama", "11434", ""), []string{"url: http://models:11434/\n"}, []string{"Nothing says"}},
		"Cassandra":               {of("db", "cassandra:5", "9042", ""), []string{"contains: CQL_VERSION"}, nil},
		"by its port's name":      {deployment("a", "{name: c, image: i}") + serviceOf("a", "{name: tcp-memcached, port: 1111}"), []string{"tcp: a:1111\n", "contains: VERSION"}, nil},
		"behind a proxy":          {of("cache", "haproxy:3", "6379", ""), []string{"tcp: cache:6379\n"}, []string{"PING"}},
		"with a web page":         {of("cache", "redis-commander", "6379", ", readinessProbe: {httpGet: {path: /, port: 6379}}"), []string{"url: http://cache:6379/\n"}, []string{"PING"}},

		"a gateway":               {of("door", "docker.io/traefik:v3", "80", ""), []string{"A gateway without a route answers with status 404.", "url: http://door:80/\n", "expect: {status: [404]}"}, nil},
		"a gateway over TLS":      {of("door", "registry.k8s.io/ingress-nginx/controller", "443", ""), []string{"url: https://door:443/\n    tls: {unverified: true}\n    expect: {status: [404]}"}, nil},
		"a webhook":               {of("shop-webhook", "operator", "443", ""), []string{"It is named a webhook", "tcp: shop-webhook:443\n"}, []string{"    url:"}},
		"a webhook by its port":   {deployment("a", "{name: c, image: i}") + serviceOf("a", "{name: https-webhook, port: 443}"), []string{"tcp: a:443\n"}, []string{"    url:"}},
		"a webhook that is asked": {of("shop-webhook", "operator", "443", ", readinessProbe: {httpGet: {path: /ok, port: 443, scheme: HTTPS}}"), []string{"url: https://shop-webhook:443/ok\n"}, nil},

		"PostgreSQL":               {of("db", "postgres:18-alpine", "5432", password), []string{`body: "\0\0\0\x17\0\x03\0\0user\0postgres\0\0"`, "contains: SCRAM-SHA-256", "lanes: [tcp]"}, nil},
		"PostgreSQL without a tag": {of("db", "docker.io/bitnami/postgresql", "5432", ", env: [{name: POSTGRESQL_PASSWORD, value: p}]"), []string{"contains: SCRAM-SHA-256"}, nil},
		"an old PostgreSQL":        {of("db", "postgres:9.6", "5432", password), []string{`body: "\0\0\0\x17\0\x03\0\0user\0postgres\0\0"`, `contains: "R\0\0\0\x0c\0\0\0\x05"`}, []string{"SCRAM"}},
		"PostgreSQL 13":            {of("db", "docker.io/bitnami/postgresql:13.4.0", "5432", ", env: [{name: POSTGRESQL_PASSWORD, value: p}]"), []string{`\x05"`}, []string{"SCRAM"}},
		"an old one that trusts":   {of("db", "postgres:11", "5432", ", env: [{name: POSTGRES_HOST_AUTH_METHOD, value: trust}]"), []string{"contains: server_version"}, nil},
		"an old one with SCRAM":    {of("db", "postgres:12", "5432", `, args: [-c, password_encryption=scram-sha-256], env: [{name: POSTGRES_PASSWORD, value: p}]`), []string{"tcp: db:5432\n"}, []string{"body:"}},
		"PostgreSQL that trusts":   {of("db", "postgres:18", "5432", ", env: [{name: POSTGRES_HOST_AUTH_METHOD, value: trust}]"), []string{"contains: server_version"}, nil},
		"PostgreSQL with MD5":      {of("db", "postgres:18", "5432", ", env: [{name: POSTGRES_HOST_AUTH_METHOD, value: md5}]"), []string{"tcp: db:5432\n"}, []string{"body:"}},
		"PostgreSQL of its own":    {of("db", "postgres:18", "5432", ""), []string{"tcp: db:5432\n"}, []string{"body:"}},
		"a pool of connections":    {of("db", "pgbouncer", "5432", ""), []string{"tcp: db:5432\n"}, []string{"body:"}},
	} {
		t.Run(name, g.check)
	}
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
	unknown := []string{"tcp: cache:6379\n", "Nothing says what port 6379 answers."}
	locked, open := []string{"tcp: cache:6379\n", `body: "PING\r\n"`, `contains: "-NOAUTH"`}, []string{`body: "PING\r\n"`, "contains: +PONG"}
	for name, g := range map[string]guess{
		"an argument":          {of(`, args: [--requirepass, $(PASSWORD)]`), locked, []string{"PONG"}},
		"in a shell":           {of(`, command: [sh, -c, 'exec redis-server --requirepass "$(cat /secret)"']`), locked, nil},
		"of a Secret":          {bitnami(of(`, env: [{name: REDIS_PASSWORD, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}]`)), locked, nil},
		"of a file":            {bitnami(of(`, env: [{name: REDIS_PASSWORD_FILE, value: /secret}]`)), locked, nil},
		"of clients alone":     {of(`, env: [{name: REDIS_PASSWORD, value: abc}]`), unknown, []string{"PING"}},
		"of its own client":    {of(`, env: [{name: REDISCLI_AUTH, value: abc}]`), unknown, []string{"PING"}},
		"a variable for it":    {of(`, args: [--requirepass, $(REDIS_PASSWORD)], env: [{name: REDIS_PASSWORD, value: abc}]`), locked, nil},
		"its configuration":    {mounts("requirepass abc"), locked, nil},
		"a comment in it":      {mounts("# requirepass foobared"), open, nil},
		"none is allowed":      {of(`, env: [{name: ALLOW_EMPTY_PASSWORD, value: "yes"}]`), open, nil},
		"an empty password":    {of(`, env: [{name: REDIS_PASSWORD, value: ""}]`), open, nil},
		"none is allowed, too": {of(`, env: [{name: ALLOW_EMPTY_PASSWORD, value: "yes"}, {name: REDIS_PASSWORD, value: ""}]`), open, nil},
		"over TLS":             {of(`, args: [--tls-port, "6379", --port, "0"]`), []string{"tcp: cache:6379\n"}, []string{"PING"}},
	} {
		t.Run(name, g.check)
	}
}
