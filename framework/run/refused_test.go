package run

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// refused makes each cluster refuse what it is asked to create of an application, and returns a scenario with one.
func (c *fixture) refused() scenario.Spec {
	c.t.Helper()
	manifests, err := app.Decode(strings.NewReader("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: {app: web}}, "+
		"template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}\n"), "web.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	a, err := app.New(manifests, "shop")
	if err != nil {
		c.t.Fatal(err)
	}
	c.onCreate = func(t *clustertest.Cluster) {
		c.witness(t)
		t.Refuse = func(method, path string) *apierrors.StatusError {
			if method == http.MethodPatch {
				c.note("patch " + path)
				return apierrors.NewBadRequest("it does not decode")
			}
			if method == http.MethodPost && !strings.Contains(path, "/leases") {
				c.note("create in " + path)
			}
			return nil
		}
	}
	s := quiet()
	s.App = &a
	return s
}

// Manifests that the API server refuses end the run before anything is deployed. A cluster that is there already stays, a new one goes.
func TestRefusedManifestsEndTheRun(t *testing.T) {
	for name, cluster := range map[string]string{"a new cluster": "", "a cluster that was there": "demo"} {
		c := newFixture(t)
		first := c.refused()
		second := first
		second.Name = "chaos/second"
		c.settings.Cluster = cluster
		file, err := Scenarios(t.Context(), *c.settings, []scenario.Spec{first, second})
		errtest.Check(t, deploy.Refused(err), "the API server refuses 1 object of the application: correct the manifests:\n  Deployment web (web.yaml): it does not decode")
		if len(file.Scenarios) != 2 || file.Scenarios[0].Error == "" || file.Scenarios[1].NotBegun == "" {
			t.Errorf("%s: run.json has %+v", name, file.Scenarios)
		}
		all := strings.Join(c.did, "\n")
		if strings.Contains(all, "create in") || !strings.Contains(all, "patch /apis/apps/v1/namespaces/kube-node-lease/deployments/web") || !strings.Contains(all, "close ") {
			t.Errorf("%s: it did\n%s", name, all)
		}
	}
}

// A provider that asks while nodes join is not asked again, and creates no cluster. What one variant of the application lacks ends only that one.
func TestWhatAProviderAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFixture(t)
		s := c.refused()
		c.settings.Open = func(ctx context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
			k, err := c.open(ctx, name, spec)
			return k, errors.Join(err, clusters.Answering(ctx, k.Config()))
		}
		s.Mutant = &history.Mutant{Removed: "a field"}
		if got := c.one(t.Context(), s); deploy.Refused(got.err) == nil || c.stop != nil {
			t.Errorf("a variant: %v, and the run is stopped by %v", got.err, c.stop)
		}
		s.Mutant = nil
		if got := c.one(t.Context(), s); deploy.Refused(got.err) == nil || deploy.Refused(c.stop) == nil {
			t.Errorf("the application: %v, and the run is stopped by %v", got.err, c.stop)
		}
		if all := strings.Join(c.did, "\n"); strings.Count(all, "patch ") != 2 || strings.Contains(all, "create in") {
			t.Errorf("it did\n%s", all)
		}
	})
}
