package fault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const zonePolicy = "critical-workloads-need-a-zone-constraint.holdfast.dev"

// policed is where admission policies are, and the API server's own watch of them, which is told later.
func (w *world) policed(kind string, a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch a := a.(type) {
	case k8stesting.CreateAction:
		o := a.GetObject().(*unstructured.Unstructured)
		if w.policies[kind] != nil {
			return true, nil, apierrors.NewAlreadyExists(schema.GroupResource{}, o.GetName())
		}
		if !w.deaf {
			w.policies[kind] = o
		}
		w.notice()
		return true, o, nil
	case k8stesting.DeleteAction:
		if w.policies[kind] == nil {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{}, a.GetName())
		}
		if !w.deaf {
			delete(w.policies, kind)
		}
		w.notice()
		return true, nil, nil
	case k8stesting.GetAction:
		if w.policies[kind] == nil {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{}, a.GetName())
		}
		return true, w.policies[kind].DeepCopy(), nil
	}
	return true, nil, errors.New("nobody needs this")
}

// notice has the API server act by what there is now, at once or later. The caller holds the lock.
func (w *world) notice() {
	w.changes++
	nth, both := w.changes, len(w.policies) == 2
	act := func() {
		if nth > w.noticed { // timers of one moment fire in any order
			w.noticed, w.inForce = nth, both
		}
	}
	switch {
	case w.frozen || w.deaf:
	case w.lag == 0:
		act()
	default:
		time.AfterFunc(w.lag, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			act()
		})
	}
}

// asked is an API server that is asked for a workload, which must be a dry run.
func (w *world) asked(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	create := a.(k8stesting.CreateActionImpl)
	if !slices.Equal(create.CreateOptions.DryRun, []string{metav1.DryRunAll}) {
		return true, nil, errors.New("this is no dry run")
	}
	var meta metav1.ObjectMeta
	var template corev1.PodTemplateSpec
	switch o := create.Object.(type) {
	case *appsv1.Deployment:
		meta, template = o.ObjectMeta, o.Spec.Template
	case *appsv1.StatefulSet:
		meta, template = o.ObjectMeta, o.Spec.Template
	}
	if meta.ResourceVersion != "" || meta.UID != "" {
		return true, nil, errors.New("resourceVersion should not be set on objects to be created")
	}
	if err, told := w.told[meta.Name]; told {
		return true, create.Object, err
	}
	if meta.Labels["holdfast.dev/critical"] == "true" && w.inForce && w.binds(a.GetResource().Resource) && !hard(template) {
		return true, nil, refusal(zonePolicy)
	}
	return true, create.Object, nil
}

// binds tells whether the policy is for a resource.
func (w *world) binds(resource string) bool {
	if w.policies["ValidatingAdmissionPolicy"] == nil {
		return true // it acts by what it knows, and has not heard of its end
	}
	rules, _, _ := unstructured.NestedSlice(w.policies["ValidatingAdmissionPolicy"].Object, "spec", "matchConstraints", "resourceRules")
	return slices.Contains(rules[0].(map[string]any)["resources"].([]any), any(resource))
}

// hard is what the policy's expression says.
func hard(template corev1.PodTemplateSpec) bool {
	return slices.ContainsFunc(template.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey == corev1.LabelTopologyZone && c.WhenUnsatisfiable == corev1.DoNotSchedule &&
			c.LabelSelector.MatchLabels["app"] == template.Labels["app"]
	})
}

// refusal by a policy, as an API server words it.
func refusal(policy string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "no-constraint",
		fmt.Errorf("ValidatingAdmissionPolicy '%s' with binding '%[1]s' denied request: no", policy))
	err.ErrStatus.Reason, err.ErrStatus.Code = metav1.StatusReasonInvalid, 422
	return err
}

// answered are the answers in the record, in words.
func (w *world) answered() (lines []string) {
	for _, a := range w.tried {
		what := "accepted"
		if !a.Accepted {
			what = "refused by " + a.By
		}
		if a.Against != "" {
			what += ", against " + a.Against
		}
		lines = append(lines, a.Kind+" "+a.Name+": "+strings.ReplaceAll(what, zonePolicy, "it"))
	}
	return lines
}

// TestEnforceTriesGoodAndBadManifests: what the API server answered is in the record, also where it is not what was wanted.
func TestEnforceTriesGoodAndBadManifests(t *testing.T) {
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
		fault Enforce
		told  map[string]error
		want  []string
	}{
		"as it should": {Enforce{}, nil, asWanted},
		"StatefulSets are forgotten": {Enforce{DeploymentsOnly: true}, nil, but(map[int]string{
			5: "StatefulSet no-constraint" + spared, 7: "StatefulSet soft-over-zones" + spared,
			9: "StatefulSet hard-over-nodes-only" + spared, 11: "StatefulSet counts-the-pods-of-others" + spared,
		})},
		"a bad one is admitted": {Enforce{}, map[string]error{"soft-over-zones": nil}, but(map[int]string{
			6: "Deployment soft-over-zones" + spared, 7: "StatefulSet soft-over-zones" + spared,
		})},
		"somebody else refuses": {Enforce{}, map[string]error{"hard-over-zones": refusal("another")}, but(map[int]string{
			0: "Deployment hard-over-zones: refused by another", 1: "StatefulSet hard-over-zones: refused by another",
		})},
		"it is refused for what it is": {Enforce{}, map[string]error{"no-constraint": apierrors.NewBadRequest("no")}, but(map[int]string{
			4: "Deployment no-constraint: refused by , against it", 5: "StatefulSet no-constraint: refused by , against it",
		})},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				w.told = s.told
				heal, err := inject(t.Context(), s.fault, w.target())
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
				if err := heal(t.Context()); err != nil {
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

// TestEnforceOfTheRecord: an answer is there with all that the API server said.
func TestEnforceOfTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		if _, err := inject(t.Context(), Enforce{}, w.target()); err != nil {
			t.Fatal(err)
		}
		want := history.Admission{
			Namespace: "ns", Kind: "Deployment", Name: "no-constraint", Against: zonePolicy, By: zonePolicy, Message: refusal(zonePolicy).Error(),
		}
		if diff := cmp.Diff(want, w.tried[4]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// leave puts a policy and its binding into the world, in force.
func (w *world) leave(labels map[string]string) {
	objects, _ := Enforce{}.policy()
	for _, o := range objects {
		o.SetLabels(labels)
		w.policies[o.GetKind()] = o
	}
	w.inForce = true
}

// TestEnforceAfterAKilledRun: what it has left is replaced, and what somebody else has applied is left alone.
func TestEnforceAfterAKilledRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		w.lag = 5 * time.Second
		w.leave(map[string]string{EnforcedBy: "holdfast"})
		left := w.policies["ValidatingAdmissionPolicy"]
		began := time.Now()
		if _, err := inject(t.Context(), Enforce{}, w.target()); err != nil || w.policies["ValidatingAdmissionPolicy"] == left {
			t.Errorf("%v; replaced: %t", err, w.policies["ValidatingAdmissionPolicy"] != left)
		}
		if took := time.Since(began); took < 2*w.lag {
			t.Errorf("it took %s: the old one was still in force", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		w.leave(nil)
		there := maps.Clone(w.policies)
		heal, err := inject(t.Context(), Enforce{}, w.target())
		const want = "enforce " + zonePolicy + ": a ValidatingAdmissionPolicy of this name is there already, and not ours"
		if err == nil || err.Error() != want || len(w.seen) != 0 {
			t.Errorf("got %v, seen %q\nwant %s", err, w.seen, want)
		}
		if err := heal(t.Context()); err != nil || !maps.Equal(there, w.policies) {
			t.Errorf("undo: %v; it was touched", err)
		}
	})
}

// TestEnforceWithoutEvidence ends in an error, and the undo leaves nothing.
func TestEnforceWithoutEvidence(t *testing.T) {
	for name, s := range map[string]struct {
		spoil func(*world)
		want  string
		seen  int
	}{
		"a workload that has nothing to lose": {func(w *world) {
			d := w.deployment()
			d.Spec.Template.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway
			_ = w.client.Tracker().Update(deployments, d, "ns")
		}, "make manifests of backend: it has no hard constraint over zones", 0},
		"somebody else refuses already": {func(w *world) { w.told = map[string]error{"none": refusal("another")} },
			"waited 1m0s for the API server to admit a critical deployment without constraints: last seen a critical deployment without " +
				"constraints is refused by policy another (", 0},
		"an API server that gives no answer": {func(w *world) {
			w.told = map[string]error{"no-constraint": apierrors.NewInternalError(errors.New("boom"))}
		}, "waited 30s for an answer to Deployment no-constraint: last seen none (", 1},
		"one that is busy": {func(w *world) {
			w.told = map[string]error{"no-constraint": apierrors.NewTooManyRequests("later", 1)}
		}, "waited 30s for an answer to Deployment no-constraint: last seen none (", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				s.spoil(w)
				heal, err := inject(t.Context(), Enforce{}, w.target())
				if err == nil || !strings.HasPrefix(err.Error(), s.want) || len(w.seen) != s.seen {
					t.Errorf("got %v, seen %q\nwant %s", err, w.seen, s.want)
				}
				w.told = nil
				if err := heal(t.Context()); err != nil || len(w.policies) != 0 || w.inForce {
					t.Errorf("undo: %v, %d objects left, in force: %t", err, len(w.policies), w.inForce)
				}
			})
		})
	}
}
