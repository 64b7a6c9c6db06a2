package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestSingleReplica(t *testing.T) {
	one := workloads.Backend{Replicas: 1}
	runs := func(image string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
	}
	caught(t, "single-replica",
		mutant{name: "one", backend: one, evidence: "spec.replicas is 1", caution: "raise its minReplicas instead"},
		mutant{
			name: "not set, which means one", evidence: "spec.replicas is 1",
			harm: func(d *appsv1.Deployment) { d.Spec.Replicas = nil },
		},
		mutant{
			name: "a StatefulSet", backend: one, statefulSet: true, severity: Warning, evidence: "spec.replicas is 1",
			caution: "a second, empty database",
		},
		mutant{
			name: "with a volume", backend: one, evidence: "spec.replicas is 1", caution: "a volume that one node holds",
			harm: func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
				}}}
			},
		},
		mutant{
			name: "with a folder of its node", backend: one, evidence: "spec.replicas is 1", caution: "a volume that one node holds",
			harm: func(d *appsv1.Deployment) { hosted("/srv/data", false)(&d.Spec.Template.Spec) },
		},
		mutant{name: "a database", backend: one, evidence: "spec.replicas is 1", caution: SecondDatabase, harm: runs("docker.io/bitnami/postgresql:16")},
		mutant{name: "a queue beside a proxy", backend: one, evidence: "spec.replicas is 1", caution: SecondDatabase, harm: runs("registry.example.com/rabbitmq@sha256:0")},
	)
}

// hosted gives the first container a folder of its node.
func hosted(path string, readOnly bool) func(*corev1.PodSpec) {
	return func(p *corev1.PodSpec) {
		p.Volumes = append(p.Volumes, corev1.Volume{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}})
		p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "host", MountPath: "/host", ReadOnly: readOnly})
	}
}

// Data in a folder of a node is on that node alone. What is read there, and what belongs to the node itself, is no data.
func TestFoldersOfNodes(t *testing.T) {
	for path, want := range map[string]bool{
		"/srv": true, "/var/lib/mysql": true, "/data/run": true, "/": true,
		"/var/run/docker.sock": false, "/mnt/api.sock": false, "/etc/ssl": false, "/var/log": false, "/dev": false, "/lib/modules": false,
	} {
		for _, readOnly := range []bool{false, true} {
			p := corev1.PodSpec{Containers: []corev1.Container{{}}}
			hosted(path, readOnly)(&p)
			if got := claims(p); got != (want && !readOnly) {
				t.Errorf("%s, read only %t: %t", path, readOnly, got)
			}
		}
	}
	unused := corev1.PodSpec{Containers: []corev1.Container{{}}}
	hosted("/srv", false)(&unused)
	unused.Containers[0].VolumeMounts = nil
	if claims(unused) {
		t.Error("a folder that no container mounts holds data")
	}
}

// A program for a database keeps no data of its own.
func TestPrograms(t *testing.T) {
	for image, want := range map[string]bool{
		"mongo-express": false, "prom/mysqld-exporter:v1": false, "pgbouncer": false, "shop/web:redis-1": true, "mcr.microsoft.com/mssql/server": true, "redis:7": true, "web": false,
		"docker-proxy.corp/library/postgres:16": true, "client-a/redis:7": true, "admin.example/mysql": true, "backup.example:5000/x/mongo:8-ui@sha256:0": true, "console/valkey": true,
		"eclipse-mosquitto:2": true, "emqx/emqx:5": true, "nats:2-alpine": true, "natsio/prometheus-nats-exporter": false, "apache/activemq-artemis": true, "signatsuite/web": false,
		"docker-proxy.corp/library/redis-exporter:16@sha256:0": false, "redis/redis-ui:1": false, "corp/pgbouncer:postgres": false,
	} {
		s := subject{Workload: &Workload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}}}
		if got := s.stateful(); got != want {
			t.Errorf("%s keeps data: %t", image, got)
		}
	}
}

// A controller with leader election loses nothing that a second one would not lose, unless requests are sent to it.
func TestLeaderElection(t *testing.T) {
	controller := func(served bool, words ...string) mutant {
		m := mutant{backend: workloads.Backend{Replicas: 1}, harm: func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Args = words
			if !served {
				unserved(d)
			}
		}}
		if !served {
			m.more = []runtime.Object{everyPod}
			m.backend.Budget = workloads.NoBudget
		}
		return m
	}
	inEnv := func(value string) mutant {
		m := controller(false)
		harm := m.harm
		m.harm = func(d *appsv1.Deployment) {
			harm(d)
			d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LEADER_ELECTION_ENABLED", Value: value}}
		}
		return m
	}
	for name, test := range map[string]struct {
		m    mutant
		want string
	}{
		"it elects":               {controller(false, "--leader-elect"), "note single-replica"},
		"by a namespace":          {controller(false, "--leader-election-namespace=kube-system"), "note single-replica"},
		"in its environment":      {inEnv("true"), "note single-replica"},
		"not in its environment":  {inEnv("false"), "error single-replica"},
		"it does not":             {controller(false, "--enable-leader-election=false"), "error single-replica"},
		"it does not, by a word":  {controller(false, "--leader-elect", "false"), "error single-replica"},
		"it says nothing":         {controller(false), "error single-replica"},
		"requests are sent to it": {controller(true, "--leader-elect"), "error single-replica"},
	} {
		if got := found(t, test.m); len(got) != 1 || got[0] != test.want {
			t.Errorf("%s: found %q, want %s", name, got, test.want)
		}
	}
}

// Where Services cannot be read, requests may be sent to it.
func TestLeaderElectionWithoutServices(t *testing.T) {
	c := Cluster{Unread: []Unread{{Resource: Services, Why: "forbidden"}}, Workloads: []Workload{{
		Kind: Deployment, Namespace: shop, Name: "c", Replicas: 1, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"--leader-elect"}}}}},
	}}}
	if r := Audit(c, Options{}); len(r.Findings) != 1 || r.Findings[0].Severity != Error {
		t.Errorf("found %s", listed(r.Findings))
	}
}
