package emit

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/patrol"
	"github.com/holdfast-ha/holdfast/framework/patrol/patroltest"
)

var update = flag.Bool("update", false, "write the golden files")

// usual are the options that the command line gives without further flags.
func usual() Options {
	return Options{Namespace: Namespace, Image: "registry.example/holdfast:v1", Every: patrol.Every, MostSeries: patrol.MostSeries}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// documents are the manifests by kind and name.
func documents(t *testing.T, o Options) map[string][]byte {
	t.Helper()
	text, err := Patrol(o)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for document := range bytes.SplitSeq(text, []byte("---\n")) {
		var about struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		if err := yaml.Unmarshal(document, &about); err != nil {
			t.Fatal(err)
		}
		all[strings.Join(strings.Fields(about.Kind+" "+about.Metadata.Namespace+" "+about.Metadata.Name), " ")] = document
	}
	return all
}

// decode decodes one manifest, and refuses fields that its type lacks.
func decode[T any](t *testing.T, all map[string][]byte, what string) (object T) {
	t.Helper()
	if err := yaml.UnmarshalStrict(all[what], &object); err != nil || all[what] == nil {
		t.Fatalf("%s: %v\n%s", what, err, all[what])
	}
	return object
}

func TestPatrol(t *testing.T) {
	text, err := Patrol(usual())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "patrol.yaml", text)
	all := documents(t, usual())
	decode[corev1.Namespace](t, all, "Namespace holdfast-patrol")
	decode[corev1.Service](t, all, "Service holdfast-patrol holdfast-patrol")
	decode[corev1.ServiceAccount](t, all, "ServiceAccount holdfast-patrol holdfast-patrol")
	decode[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding holdfast-patrol")
	decode[corev1.ConfigMap](t, all, "ConfigMap holdfast-patrol holdfast-patrol-dashboard")
	decode[prometheusRule](t, all, "PrometheusRule holdfast-patrol holdfast-patrol")
	if m := decode[serviceMonitor](t, all, "ServiceMonitor holdfast-patrol holdfast-patrol"); !m.Spec.Endpoints[0].HonorLabels {
		t.Error("the namespace of a finding would become that of the patrol")
	}
}

// An API server without the Prometheus Operator knows each of the other kinds.
func TestPlain(t *testing.T) {
	o := usual()
	o.Plain = true
	all := documents(t, o)
	for what := range all {
		if strings.Contains(string(all[what]), "monitoring.coreos.com") {
			t.Errorf("%s is among them", what)
		}
	}
	d := decode[appsv1.Deployment](t, all, "Deployment holdfast-patrol holdfast-patrol")
	if d.Spec.Template.Annotations["prometheus.io/scrape"] != "true" {
		t.Errorf("annotations: %v", d.Spec.Template.Annotations)
	}
}

// granted are the permissions of a role, one a line.
func granted(rules []rbacv1.PolicyRule) (all []string) {
	for _, r := range rules {
		for _, verb := range r.Verbs {
			for _, resource := range r.Resources {
				all = append(all, strings.Join([]string{verb, r.APIGroups[0], resource}, " "))
			}
		}
	}
	slices.Sort(all)
	return all
}

// The role allows what a patrol was seen to use, and nothing else. Events are asked for, or not allowed.
func TestTheRoleIsTheSmallest(t *testing.T) {
	for name, test := range map[string]struct {
		scope  audit.Scope
		events bool
	}{
		"all": {}, "with Events": {events: true}, "without ConfigMaps": {scope: audit.Scope{Skip: []string{"fixed-node-ports"}}},
		"a namespace":     {scope: audit.Scope{Namespaces: []string{patroltest.Namespace}}},
		"one, and Events": {scope: audit.Scope{Namespaces: []string{patroltest.Namespace}}, events: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := patroltest.New(t)
			if _, err := audit.Read(t.Context(), c.Client, test.scope); err != nil {
				t.Fatal(err)
			}
			var used []string
			for _, a := range c.Client.Actions() {
				used = append(used, strings.Join([]string{a.GetVerb(), a.GetResource().Group, a.GetResource().Resource}, " "))
			}
			if test.events {
				used = append(used, "create events.k8s.io events")
			}
			slices.Sort(used)
			o := usual()
			o.Scope, o.Events = test.scope, test.events
			all := documents(t, o)
			rules := decode[rbacv1.ClusterRole](t, all, "ClusterRole holdfast-patrol").Rules
			if len(test.scope.Namespaces) > 0 {
				if got := granted(rules); !slices.Equal(got, []string{"list  nodes"}) {
					t.Errorf("in the whole cluster it may %q", got)
				}
				rules = append(rules, decode[rbacv1.Role](t, all, "Role "+patroltest.Namespace+" holdfast-patrol").Rules...)
				binding := decode[rbacv1.RoleBinding](t, all, "RoleBinding "+patroltest.Namespace+" holdfast-patrol")
				if binding.Subjects[0].Namespace != Namespace || binding.RoleRef.Kind != "Role" {
					t.Errorf("bound is %+v", binding)
				}
			}
			if diff := cmp.Diff(used, granted(rules)); diff != "" {
				t.Errorf("permissions (-used +granted):\n%s", diff)
			}
		})
	}
}

// No role of a patrol touches Secrets, or changes anything but Events.
func TestNoSecretsAndNoWrites(t *testing.T) {
	o := usual()
	o.Events = true
	for _, line := range granted(decode[rbacv1.ClusterRole](t, documents(t, o), "ClusterRole holdfast-patrol").Rules) {
		verb, _, _ := strings.Cut(line, " ")
		if strings.Contains(line, "secrets") || strings.Contains(line, "*") || verb != "list" && line != "create events.k8s.io events" {
			t.Errorf("it may %q", line)
		}
	}
}

// Two patrols in two namespaces do not take each other's role away.
func TestTwoPatrols(t *testing.T) {
	o := usual()
	o.Namespace = "team-a"
	if _, there := documents(t, o)["ClusterRole holdfast-patrol-team-a"]; !there {
		t.Errorf("its role has no name of its own")
	}
}

func TestArguments(t *testing.T) {
	o := usual()
	if diff := cmp.Diff([]string{"audit", "--serve=:9090"}, o.args()); diff != "" {
		t.Error(diff)
	}
	o.Scope = audit.Scope{Namespaces: []string{"shop", "bank"}, System: true, Skip: []string{"no-budget", "one-zone"}}
	o.Every, o.Events, o.MostSeries = 5*time.Minute, true, 99
	want := []string{
		"audit", "--serve=:9090", "--namespace=shop", "--namespace=bank", "--system", "--skip=no-budget", "--skip=one-zone", "--interval=5m0s", "--max-series=99", "--events",
	}
	if diff := cmp.Diff(want, o.args()); diff != "" {
		t.Error(diff)
	}
}

func TestBadOptions(t *testing.T) {
	for want, spoil := range map[string]func(*Options){
		"--image: name the image":         func(o *Options) { o.Image = "" },
		`namespace "a b": `:               func(o *Options) { o.Namespace = "a b" },
		`namespace "": `:                  func(o *Options) { o.Namespace = "" },
		`namespace "x\n---": `:            func(o *Options) { o.Scope.Namespaces = []string{"shop", "x\n---"} },
		"--alert-new 1ms: want at least":  func(o *Options) { o.Alerts.New = time.Millisecond },
		"--alert-pending -1s: want at le": func(o *Options) { o.Alerts.Pending = -time.Second },
	} {
		o := usual()
		spoil(&o)
		if text, err := Patrol(o); err == nil || !strings.HasPrefix(err.Error(), want) || text != nil {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
