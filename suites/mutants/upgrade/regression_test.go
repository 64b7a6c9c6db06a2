package upgrade

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/journal"
	"github.com/holdfast-ha/holdfast/framework/journal/journaltest"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// changes returns the writes to a cluster, in order, for example "patch daemonsets kube-proxy", without dry runs, and without those of the journal
// itself.
func changes(client *fake.Clientset) (list []string) {
	for _, a := range client.Actions() {
		name := ""
		switch a := a.(type) {
		case k8stesting.CreateActionImpl:
			if a.Subresource == "eviction" {
				continue
			}
			if named, ok := a.Object.(workloads.Object); ok {
				name = named.GetName()
			}
		case k8stesting.PatchActionImpl:
			name = a.Name
		case k8stesting.DeleteActionImpl:
			name = a.Name
		default:
			continue
		}
		if a.GetNamespace() == hold.Namespace || name == hold.Namespace {
			continue
		}
		list = append(list, a.GetVerb()+" "+a.GetResource().Resource+" "+name)
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant an error with %s", err, want)
	}
}

func TestFind(t *testing.T) {
	for _, p := range Regressions() {
		found, err := Find(p.Name)
		must(t, err)
		if found.Name != p.Name || p.Does == "" || p.Cause == "" || (p.workload == nil) == (p.cluster == nil) || (p.cluster == nil) != (p.When == Never) {
			t.Errorf("%+v", p)
		}
	}
	_, err := Find("no-preStop")
	wantError(t, err, `unknown plant "no-preStop": want one of late-kube-proxy, no-prestop, webhook-without-replicas`)
	if !slices.IsSortedFunc(Regressions(), func(a, b Regression) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not in order")
	}
}

// TestOneRegressionAFile keeps additions at two places: a file here, and a name in Regressions.
func TestOneRegressionAFile(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must(t, err)
	declared := 0
	for _, file := range files {
		if file == "regression.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		must(t, err)
		if n := strings.Count(string(text), " = Regression{\n"); n != 1 {
			t.Errorf("%s declares %d regressions, want one", file, n)
		}
		declared++
	}
	if declared != len(Regressions()) {
		t.Errorf("%d files declare a regression, and Regressions returns %d", declared, len(Regressions()))
	}
}

// A cause is one of invariant's causes, or an error text of the API server.
func TestCausesAreThoseThatAreReported(t *testing.T) {
	want := map[string]string{
		"late-kube-proxy": string(attribution.CauseLateWithdrawal), "no-prestop": string(attribution.CauseLateEndpoint),
		"webhook-without-replicas": `failed calling webhook "evictions.webhook-without-replicas.holdfast.dev"`,
	}
	got := map[string]string{}
	for _, p := range Regressions() {
		got[p.Name] = p.Cause
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWorkload(t *testing.T) {
	good := scenario.Spec{Name: "chaos/x", Backend: workloads.Backend{Replicas: 3}}
	mutant := good
	mutant.Mutant = &history.Mutant{Removed: "a readiness probe"}
	for _, p := range Regressions() {
		for _, s := range []scenario.Spec{good, mutant} {
			want := s
			if p.Name == "no-prestop" && s.Mutant == nil {
				want.Backend.PreStop = workloads.NoPreStop
			}
			if diff := cmp.Diff(want.Backend, p.Workload(s).Backend); diff != "" || p.Workload(s).Mutant != s.Mutant {
				t.Errorf("%s (-want +got):\n%s", p.Name, diff)
			}
		}
	}
	if good.Backend.PreStop != 0 {
		t.Error("the scenario that was given was changed")
	}
}

func TestARegressionOfTheWorkloadLeavesTheClusterAlone(t *testing.T) {
	client := fake.NewClientset()
	revert, err := noPreStop.Apply(t.Context(), targetOf(t, client))
	must(t, err)
	must(t, revert(t.Context()))
	if len(client.Actions()) > 0 {
		t.Errorf("requests: %v", client.Actions())
	}
}

// A process that knows nothing of the killed harness reverts what it left, by the journal alone; a second heal finds nothing.
func TestHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster()
		before := state(t, client)
		target := targetOf(t, client)
		for _, p := range []Regression{lateKubeProxy, webhookWithoutReplicas} {
			_, err := p.Apply(t.Context(), target)
			must(t, err)
		}
		where := journal.Where{Client: client, Dynamic: journaltest.Dynamic(client, nil)}
		healed, err := journal.Heal(t.Context(), where, "heal")
		must(t, err)
		want := []string{
			"undone: create kube-system/configmaps/late-kube-proxy", "undone: give kube-proxy another configuration",
			"undone: create kube-system/services/webhook-without-replicas", "undone: create validatingwebhookconfigurations/webhook-without-replicas",
		}
		if diff := cmp.Diff(want, healed[0].Lines()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, state(t, client)); diff != "" {
			t.Errorf("what was left (-before +after):\n%s", diff)
		}
		if again, err := journal.Heal(t.Context(), where, "heal"); err != nil || len(again) > 0 {
			t.Errorf("again: %v, %v", again, err)
		}
	})
}

// A cluster that has a regression's change already keeps the change.
func TestAnAppliedRegressionIsNotAppliedAgain(t *testing.T) {
	for p, want := range map[string]string{
		"late-kube-proxy":          "regression late-kube-proxy: read kube-proxy's DaemonSet: it mounts no ConfigMap kube-proxy, or is delayed already",
		"webhook-without-replicas": `regression webhook-without-replicas: create kube-system/services/webhook-without-replicas: services "webhook-without-replicas" already exists`,
	} {
		t.Run(p, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newCluster()
				regression, err := Find(p)
				must(t, err)
				target := targetOf(t, client)
				_, err = regression.Apply(t.Context(), target)
				must(t, err)
				planted := state(t, client)
				revert, err := regression.Apply(t.Context(), target)
				wantError(t, err, want)
				must(t, unseen(revert(t.Context())))
				if diff := cmp.Diff(planted, state(t, client)); diff != "" {
					t.Errorf("(-planted +after):\n%s", diff)
				}
			})
		})
	}
}

// unseen is an error, unless it only says that the effect of somebody else's change is still there.
func unseen(err error) error {
	if err != nil && strings.Contains(err.Error(), "waited 1m0s for evictions to be possible again") {
		return nil
	}
	return err
}

// A partial change is reverted, also after the context of Apply has ended.
func TestAPartialChangeIsReverted(t *testing.T) {
	for name, test := range map[string]struct {
		regression     Regression
		verb, resource string
	}{
		"a DaemonSet that cannot be changed": {lateKubeProxy, "patch", "daemonsets"},
		"a webhook that is not allowed":      {webhookWithoutReplicas, "create", "validatingwebhookconfigurations"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newCluster()
				before := state(t, client)
				allow := refuse(client, test.verb, test.resource)
				ctx, cancel := context.WithCancel(t.Context())
				revert, err := test.regression.Apply(ctx, targetOf(t, client))
				wantError(t, err, "regression "+test.regression.Name+": ")
				cancel()
				allow()
				must(t, revert(t.Context()))
				must(t, revert(t.Context()))
				if diff := cmp.Diff(before, state(t, client)); diff != "" {
					t.Errorf("what was left (-before +after):\n%s", diff)
				}
			})
		})
	}
}

// refuse makes the cluster refuse a kind of request until allow is called.
func refuse(client *fake.Clientset, verb, resource string) (allow func()) {
	allowed := false
	client.PrependReactor(verb, resource, func(k8stesting.Action) (bool, runtime.Object, error) {
		return !allowed, nil, errors.New("not today")
	})
	return func() { allowed = true }
}
