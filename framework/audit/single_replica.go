package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var singleReplica = Rule{
	ID: "single-replica", Severity: Error,
	Title: "there is a single replica",
	Why: "Whatever ends its pod (a lost node, a drain, an eviction, lack of memory) is an outage until another pod is ready. " +
		"A Warning for a StatefulSet, which may not be built to run several replicas. A Note for a controller with leader election to which no Service " +
		"sends requests, except for metrics: a second one would wait, and what is missed is done later.",
	Doc: docDisruptions, check: checkSingleReplica,
}

// SecondDatabase is the caution of a fix that may start a second database beside the first.
const SecondDatabase = "only if it is built to run several replicas: a second replica of most databases is a second, empty database"

func checkSingleReplica(s *subject) {
	scaler := s.autoscaler()
	if s.Replicas != 1 || scaler != nil && minimum(scaler) > 1 { // which scales it up at once
		return
	}
	f := Finding{Evidence: "spec.replicas is 1", Caution: "where a HorizontalPodAutoscaler scales it, raise its minReplicas instead"}
	f.Fix = []Step{s.patch(s.target(), StrategicPatch, object{"spec": object{"replicas": s.several()}})}
	if scaler != nil {
		f.Evidence, f.Caution = f.Evidence+", and HorizontalPodAutoscaler "+scaler.Name+" may leave it so", ""
		f.Fix = []Step{s.raiseMinimum(scaler)}
	}
	switch {
	case s.Kind == StatefulSet:
		f.Severity = Warning
		f.Caution = sentences(SecondDatabase, f.Caution)
	case s.stateful():
		f.Caution = sentences(SecondDatabase, f.Caution)
	case s.Claims:
		f.Caution = sentences("a volume that one node holds cannot serve two replicas", f.Caution)
	case s.electsLeader():
		f.Severity = Note
	}
	s.find(f)
}

// databases are the images of servers that keep data: another one has other data. Programs beside them are none.
var (
	databases = regexp.MustCompile(`\b(postgres|postgis|timescale|mysql|mariadb|percona|mongo|redis|valkey|keydb|dragonfly|cassandra|scylla|couch|influxdb|elasticsearch|` +
		`opensearch|solr|neo4j|arango|rethinkdb|clickhouse|cockroach|mssql|oracle|db2|etcd|zookeeper|kafka|rabbitmq|mosquitto|emqx|vernemq|activemq|nats|minio|qdrant|milvus|weaviate|meilisearch)`)
	besides = regexp.MustCompile(`exporter|express|commander|admin|proxy|bouncer|operator|backup|client|console|dashboard|ui\b|postgrest`)
)

// stateful reports whether a container's image is that of a database. Its registry and its owner do not say that it is something else.
func (s *subject) stateful() bool {
	return slices.ContainsFunc(running(s.Template.Spec), func(c container) bool {
		image, _, _ := strings.Cut(c.Image, "@")
		name, _, _ := strings.Cut(path.Base(image), ":")
		return databases.MatchString(image) && !besides.MatchString(name)
	})
}

var (
	elects = regexp.MustCompile(`(?i)leader[-_]?elect`)
	never  = regexp.MustCompile(`(?i)leader[-_]?elect(ion)?([-_]?enabled?)?("?[=,]"?|","value":")false`)
)

// electsLeader reports whether the subject's replicas elect one that works, and nothing but metrics is asked of them.
func (s *subject) electsLeader() bool {
	serving, traffic := s.served()
	asked := traffic && len(serving) == 0 || slices.ContainsFunc(serving, func(c served) bool { return !c.metrics })
	if asked || s.cluster.unread(Services, s.Namespace) {
		return false
	}
	said := encode(s.Template.Spec.Containers)
	return elects.Match(said) && !never.Match(said)
}
