package environment

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// quiet is a scenario without load.
func quiet() scenario.Spec {
	return scenario.Spec{
		Name: "chaos/quiet", Claim: "zones stay even", Faults: []fault.Fault{fault.Rollout{}},
		Promises: []invariant.Invariant{invariant.Spread{TopologyKey: clusters.LabelZone, Max: 1}},
	}.WithDefaults()
}

// newEnvironment is the environment of a scenario on a cluster in memory, connected, with nothing deployed yet, and a function
// that reads its record.
func newEnvironment(t *testing.T, s scenario.Spec) (*Environment, *clustertest.Cluster, func() history.Run) {
	t.Helper()
	c, dir := clustertest.New("0", s.Cluster), t.TempDir()
	w, err := history.Create(dir, history.Header{Scenario: s.Name})
	if err != nil {
		t.Fatal(err)
	}
	env := New(Options{
		Spec: s, Cluster: c, Writer: w, Seed: 4711, Token: "ours",
		Now: func(history.PhaseName, string) {}, Loading: func(func() (sent, failed uint64)) {},
	})
	env.image = "i"
	if err := env.connect(); err != nil {
		t.Fatal(err)
	}
	return env, c, func() history.Run {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := history.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// The load workers are called with the token whose sum is in their pods, and which no other scenario's workers take.
func TestLoadWorkersAreToldTheirToken(t *testing.T) {
	env, _, _ := newEnvironment(t, quiet())
	other, _, _ := newEnvironment(t, quiet())
	objects, err := env.loadWorkers().Objects(env.loadPlace())
	if err != nil {
		t.Fatal(err)
	}
	told := corev1.EnvVar{Name: workloads.EnvTokenSum, Value: collect.TokenSum(env.loadPods().Token)}
	if job := objects[0].(*batchv1.Job); !slices.Contains(job.Spec.Template.Spec.Containers[0].Env, told) {
		t.Errorf("its pods have %v, and not %v", job.Spec.Template.Spec.Containers[0].Env, told)
	}
	if env.loadPods().Token == "" || env.loadPods().Token == other.loadPods().Token {
		t.Error("two scenarios have one token, or none")
	}
}

// unreachable is a cluster whose Config makes no sense.
type unreachable struct{ *clustertest.Cluster }

func (unreachable) Config() *rest.Config {
	return &rest.Config{Host: "https://api.test", TLSClientConfig: rest.TLSClientConfig{Insecure: true, CAData: []byte("ca")}}
}

func TestAClusterThatCannotBeReachedIsNamed(t *testing.T) {
	env := New(Options{Spec: quiet(), Cluster: unreachable{clustertest.New("0", quiet().Cluster)}})
	if err := env.connect(); err == nil || !strings.HasPrefix(err.Error(), "connect to cluster 0: ") {
		t.Errorf("got %v", err)
	}
	if err := env.Clear(t.Context()); err != nil {
		t.Errorf("nothing was made there, and clearing it says %v", err)
	}
}

// A fault's client leaves a trace of each eviction, whoever asks for it, and none of what the harness itself does.
func TestWhatFaultsEvictIsRecorded(t *testing.T) {
	env, fake, read := newEnvironment(t, quiet())
	if err := env.create(t.Context(), workloads.Namespace(env.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"p1", "p2"} {
		fake.Put("/api/v1/namespaces/"+env.namespace+"/pods", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name}})
	}
	uid := string(fake.Get("/api/v1/namespaces/" + env.namespace + "/pods/p1").GetUID())
	target, err := env.target(env.Cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	if target.Namespace != env.namespace || target.Workload != "backend" || target.Cluster != env.Cluster {
		t.Errorf("target: %+v", target)
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p1", Namespace: env.namespace}}
	if err := target.Client.PolicyV1().Evictions(env.namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
	eviction.Name = "p2"
	if err := env.client.PolicyV1().Evictions(env.namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
	var got []history.Eviction
	for _, e := range read().Events {
		if e.Eviction != nil {
			got = append(got, *e.Eviction)
		}
	}
	want := []history.Eviction{{Namespace: env.namespace, Pod: "p1", UID: uid, Accepted: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever creates or changes something for the scenario: what it uses that is deprecated is in the record, once.
func TestDeprecatedManifestsAreRecorded(t *testing.T) {
	env, fake, read := newEnvironment(t, quiet())
	fake.Warn = func(_, at string) string {
		switch path.Base(at) {
		case "poddisruptionbudgets":
			return "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+"
		case "configmaps":
			return "would be refused tomorrow"
		}
		return ""
	}
	objects, err := env.wanted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := env.create(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
	target, err := env.target(env.config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		policy := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "policy-"}}
		if _, err := target.Client.CoreV1().ConfigMaps(env.namespace).Create(t.Context(), policy, metav1.CreateOptions{DryRun: []string{"All"}}); err != nil &&
			!apierrors.IsAlreadyExists(err) { // the server names none
			t.Fatal(err)
		}
	}
	want := []history.APIWarning{
		{Object: "PodDisruptionBudget backend", Text: "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+"},
		{Object: "ConfigMap policy-", Text: "would be refused tomorrow"},
	}
	if diff := cmp.Diff(want, read().Warnings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The same seed makes the same choices in a scenario, whatever was run before it.
func TestRandomIsAScenariosOwn(t *testing.T) {
	draw := func(seed uint64, name string) (n [4]uint64) {
		r := New(Options{Seed: seed, Spec: scenario.Spec{Name: name}}).random()
		for i := range n {
			n[i] = r.Uint64()
		}
		return n
	}
	before := draw(1, "chaos/a")
	if draw(1, "chaos/b"); draw(1, "chaos/a") != before {
		t.Error("the same seed chose otherwise")
	}
	if draw(1, "chaos/a") == draw(2, "chaos/a") || draw(1, "chaos/a") == draw(1, "chaos/b") {
		t.Error("another seed, or another scenario, chose the same")
	}
}
