package manifests

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/fault"
)

// TestApplyPolicyTriesGoodAndBadManifests checks that the record has the answers, right or wrong.
func TestApplyPolicyTriesGoodAndBadManifests(t *testing.T) {
	asWanted := []string{
		"Deployment hard-over-zones: accepted", "StatefulSet hard-over-zones: accepted",
		"Deployment not-critical-and-no-constraint: accepted", "StatefulSet not-critical-and-no-constraint: accepted",
		"Deployment no-constraint: refused by it, against it", "StatefulSet no-constraint: refused by it, against it",
		"Deployment soft-over-zones: refused by it, against it", "StatefulSet soft-over-zones: refused by it, against it",
		"Deployment hard-over-nodes-only: refused by it, against it", "StatefulSet hard-over-nodes-only: refused by it, against it",
		"Deployment counts-the-pods-of-others: refused by it, against it", "StatefulSet counts-the-pods-of-others: refused by it, against it",
	}
	but := func(changed map[int]string) []string {
		lines := slices.Clone(asWanted)
		for i, line := range changed {
			lines[i] = line
		}
		return lines
	}
	const spared = ": accepted, against it"
	for name, s := range map[string]struct {
		action ApplyPolicy
		told   map[string]error
		want   []string
	}{
		"as it should": {ApplyPolicy{}, nil, asWanted},
		"StatefulSets are forgotten": {ApplyPolicy{DeploymentsOnly: true}, nil, but(map[int]string{
			5: "StatefulSet no-constraint" + spared, 7: "StatefulSet soft-over-zones" + spared,
			9: "StatefulSet hard-over-nodes-only" + spared, 11: "StatefulSet counts-the-pods-of-others" + spared,
		})},
		"a bad one is admitted": {ApplyPolicy{}, map[string]error{"soft-over-zones": nil}, but(map[int]string{
			6: "Deployment soft-over-zones" + spared, 7: "StatefulSet soft-over-zones" + spared,
		})},
		"another policy refuses": {ApplyPolicy{}, map[string]error{"hard-over-zones": refusal("another")}, but(map[int]string{
			0: "Deployment hard-over-zones: refused by another", 1: "StatefulSet hard-over-zones: refused by another",
		})},
		"no policy refuses": {ApplyPolicy{}, map[string]error{"no-constraint": apierrors.NewBadRequest("no")}, but(map[int]string{
			4: "Deployment no-constraint: refused by , against it", 5: "StatefulSet no-constraint: refused by , against it",
		})},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.told = s.told
				revert, err := inject(t.Context(), s.action, w.target())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(s.want, w.answered()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				seen := []string{"nodes=[] pods=0 a critical deployment without constraints is refused by policy " + zonePolicy}
				if diff := cmp.Diff(seen, w.seen); diff != "" {
					t.Errorf("seen (-want +got):\n%s", diff)
				}
				if err := revert(t.Context()); err != nil {
					t.Error(err)
				}
				healed := []string{"the policy and its binding are gone; a critical deployment without constraints is admitted"}
				if diff := cmp.Diff(healed, w.healed); diff != "" || len(w.policies) != 0 {
					t.Errorf("healed (-want +got):\n%s; left: %d objects", diff, len(w.policies))
				}
			})
		})
	}
}

// leave puts a policy and its binding in force.
func (w *world) leave(labels map[string]string) {
	objects, _ := ApplyPolicy{}.objects()
	for _, o := range objects {
		o.SetLabels(labels)
		w.policies[o.GetKind()] = o
	}
	w.inForce = true
}

// TestApplyPolicyAfterAKilledRun checks that a policy of a killed run is replaced, and that a policy of a user stays.
func TestApplyPolicyAfterAKilledRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.lag = 5 * time.Second
		w.leave(map[string]string{AppliedBy: "holdfast"})
		left := w.policies["ValidatingAdmissionPolicy"]
		began := time.Now()
		if _, err := inject(t.Context(), ApplyPolicy{}, w.target()); err != nil || w.policies["ValidatingAdmissionPolicy"] == left {
			t.Errorf("%v; replaced: %t", err, w.policies["ValidatingAdmissionPolicy"] != left)
		}
		if took := time.Since(began); took < 2*w.lag {
			t.Errorf("it took %s: the old policy was still in force", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.leave(nil)
		there := maps.Clone(w.policies)
		revert, err := inject(t.Context(), ApplyPolicy{}, w.target())
		const want = "apply policy " + zonePolicy + ": a ValidatingAdmissionPolicy of this name exists that holdfast did not create"
		if err == nil || err.Error() != want || len(w.seen) != 0 {
			t.Errorf("got %v, seen %q\nwant %s", err, w.seen, want)
		}
		if err := revert(t.Context()); err != nil || !maps.Equal(there, w.policies) {
			t.Errorf("revert: %v; it was touched", err)
		}
	})
}

// TestApplyPolicyWithoutEvidence checks that each case is an error, and that the revert leaves nothing.
func TestApplyPolicyWithoutEvidence(t *testing.T) {
	for name, s := range map[string]struct {
		spoil func(*world)
		seen  int
	}{
		"a workload without a hard constraint": {func(w *world) {
			d := w.deployment()
			d.Spec.Template.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway
			_ = w.client.Tracker().Update(deployments, d, "ns")
		}, 0},
		"another policy refuses already": {func(w *world) { w.told = map[string]error{"none": refusal("another")} }, 0},
		"no API server":                  {func(w *world) { w.fail("create", "deployments", 1, 500) }, 0},
		"an API server that gives no answer": {func(w *world) {
			w.told = map[string]error{"no-constraint": apierrors.NewInternalError(errors.New("boom"))}
		}, 1},
		"a busy API server": {func(w *world) {
			w.told = map[string]error{"no-constraint": apierrors.NewTooManyRequests("later", 1)}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				s.spoil(w)
				revert, err := inject(t.Context(), ApplyPolicy{}, w.target())
				if err == nil || len(w.seen) != s.seen {
					t.Errorf("got %v, seen %q", err, w.seen)
				}
				w.told = nil
				if err := revert(t.Context()); err != nil || len(w.policies) != 0 || w.inForce {
					t.Errorf("revert: %v, %d objects left, in force: %t", err, len(w.policies), w.inForce)
				}
			})
		})
	}
}

// actions are the actions of this package, with what reverts each of them besides its own revert.
var actions = map[string]struct {
	action fault.Fault
	world  func(*testing.T) *world
	revert func(*testing.T, *world)
}{
	"policy": {ApplyPolicy{}, func(*testing.T) *world { return newWorld() }, func(_ *testing.T, w *world) {
		clear(w.policies)
		w.notice()
	}},
	"fixes": {ApplyAuditFixes{}, unbudgeted, func(t *testing.T, w *world) {
		must(t, w.client.PolicyV1().PodDisruptionBudgets("ns").Delete(t.Context(), "backend", metav1.DeleteOptions{}))
	}},
}

// TestActionsAreSeen checks the witness of each action: it holds while the action is in effect, and not after another process
// reverted it. A witness that cannot look returns an error. The revert may be called twice, and after the context has ended.
func TestActionsAreSeen(t *testing.T) {
	for name, s := range actions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := s.world(t)
				w.lag = 10 * time.Second
				ctx, cancel := context.WithCancel(t.Context())
				revert, err := inject(ctx, s.action, w.target())
				must(t, err)
				if holds, saw, err := w.lasting(t.Context()); !holds || saw == "" || err != nil || len(w.seen) != 1 {
					t.Errorf("in effect: %t, %q, %v; seen %q", holds, saw, err, w.seen)
				}
				w.lag = 0
				s.revert(t, w)
				if holds, saw, err := w.lasting(t.Context()); holds || saw == "" || err != nil {
					t.Errorf("reverted: %t, %q, %v", holds, saw, err)
				}
				cancel()
				for range 2 {
					if err := revert(context.WithoutCancel(ctx)); err != nil || len(w.healed) != 1 {
						t.Errorf("revert: %v, healed %q", err, w.healed)
					}
				}
				w.fail("*", "*", 1, 1<<30)
				if holds, _, err := w.lasting(t.Context()); holds || err == nil {
					t.Errorf("without an API server: %t, %v", holds, err)
				}
			})
		})
	}
}

// TestActionsWithoutEffect checks that an API server that accepts every change and stores none is an error.
func TestActionsWithoutEffect(t *testing.T) {
	for name, s := range actions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := s.world(t)
				w.deaf = true
				swallow(w.dynamic)
				revert, err := inject(t.Context(), s.action, w.target())
				if err == nil || len(w.seen) != 0 || w.lasting != nil || revert == nil {
					t.Errorf("%v, seen %q", err, w.seen)
				}
			})
		})
	}
}

// TestApplyPolicyToAStatefulSet checks that the manifests are made from a StatefulSet as well.
func TestApplyPolicyToAStatefulSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.deployment()
		must(t, w.client.Tracker().Delete(deployments, "ns", "backend"))
		must(t, w.client.Tracker().Add(asStatefulSet(d)))
		to := w.target()
		to.Kind = "StatefulSet"
		revert, err := inject(t.Context(), ApplyPolicy{}, to)
		must(t, err)
		if len(w.seen) != 1 || len(w.tried) != 12 {
			t.Errorf("seen %q, %d answers", w.seen, len(w.tried))
		}
		must(t, revert(t.Context()))
	})
}
