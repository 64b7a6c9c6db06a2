package environment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// hookNamed is a hook before the installation.
func hookNamed(apiVersion, kind string) app.Manifest {
	return app.Manifest{Source: "shop/templates/check.yaml", Stage: app.BeforeInstall, Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "check"},
	}}}
}

func job(conditions ...batchv1.JobCondition) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "check", Namespace: "shop"}, Status: batchv1.JobStatus{Conditions: conditions}}
}

func condition(kind batchv1.JobConditionType, status corev1.ConditionStatus, message string) batchv1.JobCondition {
	return batchv1.JobCondition{Type: kind, Status: status, Message: message}
}

// hookPod is a pod of the Job, or the hook itself, with one container.
func hookPod(name string, phase corev1.PodPhase, container corev1.ContainerStatus) *corev1.Pod {
	container.Name = "c"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", Labels: map[string]string{batchv1.JobNameLabel: "check"}},
		Status:     corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{container}},
	}
}

func ended(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, ContainerID: fmt.Sprint("id-", code)}}
}

// A hook is done when its Job is complete or its Pod has succeeded. Everything else ends the test, with what the hook wrote.
func TestHooksAreAwaited(t *testing.T) {
	const (
		failed = "the pre-install hook Job check (shop/templates/check.yaml) failed: "
		lines  = "container c of pod check-1 ended with exit code 3; its last lines:\nfake logs\nmend the hook"
	)
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}}
	crashing := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	aJob, aPod := hookNamed("batch/v1", "Job"), hookNamed("v1", "Pod")
	for name, test := range map[string]struct {
		hook    app.Manifest
		objects []runtime.Object
		want    []string // in the error; none: there is none
		not     string
	}{
		"a complete Job":          {aJob, []runtime.Object{job(condition(batchv1.JobComplete, "True", ""))}, nil, ""},
		"one after a failed try":  {aJob, []runtime.Object{job(condition(batchv1.JobComplete, "True", "")), hookPod("check-1", "Failed", corev1.ContainerStatus{State: ended(3)})}, nil, ""},
		"a failed Job":            {aJob, []runtime.Object{job(condition(batchv1.JobFailed, "True", "backoff limit")), hookPod("check-1", "Failed", corev1.ContainerStatus{State: ended(3)})}, []string{failed + "backoff limit\n" + lines}, "waited"},
		"one that restarts":       {aJob, []runtime.Object{job(condition(batchv1.JobFailed, "True", "backoff limit")), hookPod("check-1", "Running", corev1.ContainerStatus{State: crashing, LastTerminationState: ended(3)})}, []string{lines}, ""},
		"a failed Job, no pods":   {aJob, []runtime.Object{job(condition(batchv1.JobFailed, "True", ""))}, []string{failed + "its pods failed\nmend"}, "last lines"},
		"conditions that are not": {aJob, []runtime.Object{job(condition(batchv1.JobComplete, "False", ""), condition(batchv1.JobFailed, "Unknown", "x"))}, []string{failed + "waited 5m0s", "0 pods active, 0 succeeded, 0 failed"}, ""},
		"about to fail":           {aJob, []runtime.Object{job(condition(batchv1.JobFailureTarget, "True", "")), hookPod("check-1", "Failed", corev1.ContainerStatus{State: ended(3)})}, []string{"waited 5m0s", lines}, ""},
		"a Job without its image": {aJob, []runtime.Object{job(), hookPod("check-1", "Pending", corev1.ContainerStatus{State: waiting})}, []string{failed + "pod check-1 does not start: container c: ErrImagePull: no such image"}, "waited"},
		"a Job that tries again":  {aJob, []runtime.Object{job(), hookPod("check-1", "Running", corev1.ContainerStatus{State: crashing, RestartCount: 9, LastTerminationState: ended(3)})}, []string{"waited 5m0s", lines}, "does not start"},
		"no Job":                  {aJob, nil, []string{"waited 5m0s", "not found"}, ""},
		"a Pod":                   {aPod, []runtime.Object{hookPod("check", "Succeeded", corev1.ContainerStatus{State: ended(0)})}, nil, ""},
		"a failed Pod":            {aPod, []runtime.Object{hookPod("check", "Failed", corev1.ContainerStatus{State: ended(4)})}, []string{"hook Pod check", "its containers failed\ncontainer c of pod check ended with exit code 4"}, "waited"},
		"a Pod that goes on":      {aPod, []runtime.Object{hookPod("check", "Running", corev1.ContainerStatus{})}, []string{"waited 5m0s", "Running"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := &Environment{namespace: "shop", client: fake.NewClientset(test.objects...)}
				err := env.hookDone(t.Context(), test.hook)
				if test.want == nil {
					if err != nil {
						t.Error(err)
					}
					return
				}
				for _, want := range test.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v, want one with %q", err, want)
					}
				}
				if err != nil && test.not != "" && strings.Contains(err.Error(), test.not) {
					t.Errorf("error %v, want one without %q", err, test.not)
				}
			})
		})
	}
}

// An interrupted wait is no failure of the hook.
func TestAnInterruptedHookHasNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("it is over")
		time.AfterFunc(time.Second, func() { cancel(over) })
		env := &Environment{namespace: "shop", client: fake.NewClientset(job())}
		if err := env.hookDone(ctx, hookNamed("batch/v1", "Job")); !errors.Is(err, over) || strings.Contains(err.Error(), "mend") {
			t.Errorf("error %v", err)
		}
	})
}

// resettable is a mapper that knows all it will ever know.
type resettable struct{ meta.RESTMapper }

func (resettable) Reset() {}

// Nothing is created before the hooks that precede it are done, and nothing after one that has failed.
func TestHooksAreDoneInTheirOrder(t *testing.T) {
	object := func(stage app.Stage, apiVersion, kind, name, policy string) app.Manifest {
		return app.Manifest{Source: "shop", Stage: stage, Object: unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{
				"name": name, "annotations": map[string]any{"helm.sh/hook": "some", "helm.sh/hook-delete-policy": policy},
			},
		}}}
	}
	manifests := []app.Manifest{
		object(app.First, "v1", "Secret", "token", ""),
		object(app.BeforeInstall, "v1", "ConfigMap", "page", "hook-succeeded"), object(app.BeforeInstall, "batch/v1", "Job", "check", "hook-succeeded"),
		object(app.Install, "apps/v1", "Deployment", "web", "hook-succeeded"),
		object(app.AfterInstall, "batch/v1", "Job", "check", ""),
	}
	before := []string{"patch secrets token", "patch configmaps page", "delete jobs check", "patch jobs check"}
	for name, test := range map[string]struct {
		end  batchv1.JobConditionType
		want []string
	}{
		"done":   {batchv1.JobComplete, append(before[:4:4], "delete jobs check", "delete configmaps page", "patch deployments web", "delete jobs check", "patch jobs check")},
		"failed": {batchv1.JobFailed, before},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				untyped := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
				var got []string
				there := map[string]bool{}
				untyped.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
					named := action.(interface{ GetName() string }).GetName()
					what := action.GetResource().Resource + " " + named
					if action.GetVerb() == "delete" && !there[what] && got[len(got)-1] == "delete "+what {
						return true, nil, apierrors.NewNotFound(action.GetResource().GroupResource(), named) // what was there is gone
					}
					got = append(got, action.GetVerb()+" "+what)
					there[what] = action.GetVerb() == "patch"
					return true, &unstructured.Unstructured{Object: map[string]any{}}, nil
				})
				mapper := meta.NewDefaultRESTMapper(nil)
				for _, m := range manifests {
					mapper.Add(m.Object.GroupVersionKind(), meta.RESTScopeNamespace)
				}
				env := &Environment{namespace: "shop", client: fake.NewClientset(job(condition(test.end, "True", "")))}
				env.Spec.App = &app.App{Manifests: manifests}
				err := applier{env, untyped, resettable{mapper}}.create(t.Context(), app.First, app.BeforeInstall, app.Install, app.AfterInstall)
				if failed := test.end == batchv1.JobFailed; (err != nil) != failed {
					t.Errorf("error %v", err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
}
