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

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// changes returns the writes to a cluster, in order, for example "patch daemonsets kube-proxy", without dry runs.
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
	revert, err := noPreStop.Apply(t.Context(), client)
	must(t, err)
	must(t, revert(t.Context()))
	if len(client.Actions()) > 0 {
		t.Errorf("requests: %v", client.Actions())
	}
}

// A process that knows nothing of the killed harness reverts what it left; a second Revert finds nothing.
func TestRevert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster()
		for _, p := range []Regression{lateKubeProxy, webhookWithoutReplicas} {
			_, err := p.Apply(t.Context(), client)
			must(t, err)
		}
		reverted, err := Revert(t.Context(), client)
		must(t, err)
		if diff := cmp.Diff([]string{"the delay of kube-proxy", "the webhook without replicas"}, reverted); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		client.ClearActions()
		if reverted, err = Revert(t.Context(), client); err != nil || len(reverted) > 0 || len(changes(client)) > 0 {
			t.Errorf("again: %v, %v, %v", reverted, err, changes(client))
		}
	})
}

func TestRevertGoesOnAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster()
		_, err := webhookWithoutReplicas.Apply(t.Context(), client)
		must(t, err)
		refuse(client, "get", "configmaps")
		reverted, err := Revert(t.Context(), client)
		wantError(t, err, "revert regression late-kube-proxy: read kube-proxy's configuration: not today")
		if diff := cmp.Diff([]string{"the webhook without replicas"}, reverted); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A cluster that has a regression's change already keeps the change, and what is needed to revert it.
func TestAnAppliedRegressionIsNotAppliedAgain(t *testing.T) {
	for _, p := range []Regression{lateKubeProxy, webhookWithoutReplicas} {
		t.Run(p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newCluster()
				_, err := p.Apply(t.Context(), client)
				must(t, err)
				client.ClearActions()
				revert, err := p.Apply(t.Context(), client)
				wantError(t, err, " exists already: run `holdfast heal` to remove it")
				must(t, revert(t.Context()))
				if did := changes(client); len(did) > 0 {
					t.Errorf("did %v", did)
				}
			})
		})
	}
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
				revert, err := test.regression.Apply(ctx, client)
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
