package deploy_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// stages is what a controller, a kubelet or an API server does, by the time at which it does it.
type stages map[time.Duration]func()

// play does it, while a test waits.
func (s stages) play(t *testing.T) {
	for after, do := range s {
		go func() {
			select {
			case <-t.Context().Done():
			case <-time.After(after):
				do()
			}
		}()
	}
}

// becomes gives an object of namespace other another status.
func (c *cluster) becomes(t *testing.T, apiVersion, kind, name, status string) func() {
	return func() {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			t.Error(err)
		}
		plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
		o, err := c.Tracker().Get(plural, "other", name)
		if err != nil {
			t.Errorf("%s %s: %v", kind, name, err)
			return
		}
		var now map[string]any
		inJSON, err := yaml.YAMLToJSON([]byte(status))
		if err == nil {
			err = utiljson.Unmarshal(inJSON, &now)
		}
		changed := o.(*unstructured.Unstructured).DeepCopy()
		changed.Object["status"] = now
		if err != nil || c.Tracker().Update(plural, changed, "other") != nil {
			t.Errorf("%s %s does not change: %v", kind, name, err)
		}
	}
}

// pod writes a pod of namespace other, whose container has ended so often, and waits or runs.
func (c *cluster) pod(t *testing.T, name string, restarts int32, waiting, ready bool) func() {
	return func() {
		status := corev1.ContainerStatus{Name: "c", RestartCount: restarts, Ready: ready}
		if waiting {
			status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error"}
		}
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "other", Labels: map[string]string{"app": name, "job": name}},
			Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}},
		}
		if ready {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		pods := corev1.SchemeGroupVersion.WithResource("pods")
		if c.client.Tracker().Update(pods, p, "other") != nil {
			if err := c.client.Tracker().Create(pods, p, "other"); err != nil {
				t.Error(err)
			}
		}
	}
}

// note writes an Event of namespace other, which happened that long after the test began.
func (c *cluster) note(t *testing.T, after time.Duration, kind, name, reason, message string) func() {
	began := time.Now()
	return func() {
		e := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "other", Name: fmt.Sprintf("%s-%s-%s-%s", strings.ToLower(kind), name, strings.ToLower(reason), after)},
			InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, FieldPath: "spec.containers{c}"},
			Type:           corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(began.Add(after)),
		}
		if err := c.client.Tracker().Create(corev1.SchemeGroupVersion.WithResource("events"), e, "other"); err != nil {
			t.Error(err)
		}
	}
}

const (
	elsewhere = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME, namespace: other}\nspec: {replicas: 1, selector: {matchLabels: {app: NAME}}, " +
		"template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: i}]}}}\n---\n"
	refusedPods = "{replicas: 1, conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: 'pods is forbidden: exceeded quota: few'}]}"
	noPods      = "FailedCreate: pods is forbidden: exceeded quota: few"
	active      = "{active: 1}"
	inShop      = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n---\n" // so that what is in it is tested
)

var (
	work   = strings.Replace(job("work", ""), "name: work", "name: work, namespace: other", 1)
	other  = strings.ReplaceAll(work, "work", "other-work")
	set    = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: set, namespace: other}\nspec: {replicas: 2, selector: {matchLabels: {app: set}}}\n---\n"
	api    = strings.ReplaceAll(elsewhere, "NAME", "api")
	db     = strings.ReplaceAll(elsewhere, "NAME", "db")
	helper = strings.Replace(work, "annotations: {", "annotations: {helm.sh/hook: post-install", 1)
)

// A wait ends when nothing is left that could change what Kubernetes gives as the reason, and says that reason. It does not end while there is.
func TestWaitsEndWhenTheyAreHopeless(t *testing.T) {
	deployment := func(c *cluster, name, status string) func() {
		return c.becomes(t, "apps/v1", "Deployment", name, status)
	}
	jobs := func(c *cluster, name, status string) func() { return c.becomes(t, "batch/v1", "Job", name, status) }
	for name, test := range map[string]struct {
		text  string
		play  func(*testing.T, *cluster) stages
		want  string // empty: it ends well
		after time.Duration
	}{
		"a quota": {
			api, func(_ *testing.T, c *cluster) stages { return stages{time.Second: deployment(c, "api", refusedPods)} },
			"Deployment api (app.yaml) does not become ready: Updated: 0/1: no further pod is created: " + noPods, 62 * time.Second,
		},
		"a quota that gets room": {
			api, func(_ *testing.T, c *cluster) stages {
				return stages{time.Second: deployment(c, "api", refusedPods), 59 * time.Second: deployment(c, "api", available)}
			}, "", 60 * time.Second,
		},
		"a quota that gets room when a Job ends": {
			api + work, func(_ *testing.T, c *cluster) stages {
				return stages{
					0: jobs(c, "work", active), time.Second: deployment(c, "api", refusedPods),
					3 * time.Minute: jobs(c, "work", complete), 3*time.Minute + 50*time.Second: deployment(c, "api", available),
				}
			}, "", 231 * time.Second,
		},
		"a Job that is refused, and another that ends": {
			work + other, func(t *testing.T, c *cluster) stages {
				return stages{
					0: jobs(c, "other-work", active), time.Second: c.note(t, time.Second, "Job", "work", "FailedCreate", "pods is forbidden: exceeded quota: few"),
					100 * time.Second: jobs(c, "other-work", complete),
				}
			}, "Job work (app.yaml) does not become ready: it has not completed, with 0 pods active: no further pod is created: " + noPods, 162 * time.Second,
		},
		"a Job that was refused once": {
			work, func(t *testing.T, c *cluster) stages {
				return stages{
					time.Second:     c.note(t, time.Second, "Job", "work", "FailedCreate", "no service account"),
					2 * time.Second: c.note(t, time.Second, "Job", "work", "SuccessfulCreate", "Created pod"), // within the second that an Event counts
					4 * time.Minute: jobs(c, "work", complete),
				}
			}, "", 241 * time.Second,
		},
		"a Job whose active pod makes room": {
			work, func(t *testing.T, c *cluster) stages {
				return stages{
					0: jobs(c, "work", active), time.Second: c.note(t, time.Second, "Job", "work", "FailedCreate", "exceeded quota"), 4 * time.Minute: jobs(c, "work", complete),
				}
			}, "", 241 * time.Second,
		},
		"a Deployment whose first pod starts": {
			api, func(t *testing.T, c *cluster) stages {
				return stages{0: c.pod(t, "api", 0, false, false), time.Second: deployment(c, "api", refusedPods), 4 * time.Minute: deployment(c, "api", available)}
			}, "", 241 * time.Second,
		},
		"a StatefulSet that is refused": {
			set, func(t *testing.T, c *cluster) stages {
				return stages{
					time.Second: c.note(t, time.Second, "StatefulSet", "set", "SuccessfulCreate", "create Pod set-0"), 2 * time.Second: c.pod(t, "set", 0, false, true),
					3 * time.Second: c.note(t, 3*time.Second, "StatefulSet", "set", "FailedCreate", `failed calling webhook "vet.shop.org"`),
				}
			}, `no further pod is created: FailedCreate: failed calling webhook "vet.shop.org"`, 66 * time.Second,
		},
		"a container that always ends": {
			api, func(t *testing.T, c *cluster) stages {
				return stages{
					0: c.pod(t, "api", 2, true, false), 30 * time.Second: c.pod(t, "api", 3, false, false), 35 * time.Second: c.pod(t, "api", 3, true, false),
					5 * time.Second:  c.note(t, 5*time.Second, "Pod", "api", "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500\n"),
					20 * time.Second: c.note(t, 20*time.Second, "Pod", "api", "Killing", "Container c failed liveness probe, will be restarted"),
				}
			}, "pod api: container c was restarted 3 times, the last time after exit code 137 (Error), and killed: Liveness probe failed: HTTP probe failed with statuscode: 500; its last lines:\nfake logs", 52 * time.Second,
		},
		"a container that ends until a database is there": {
			api + db, func(t *testing.T, c *cluster) stages {
				return stages{
					0: c.pod(t, "api", 3, false, false), 5 * time.Second: c.pod(t, "api", 3, true, false), 60 * time.Second: deployment(c, "db", available),
					85 * time.Second: c.pod(t, "api", 4, false, false), 95 * time.Second: deployment(c, "api", available),
				}
			}, "", 96 * time.Second,
		},
		"a container that ends although the database is there": {
			api + db, func(t *testing.T, c *cluster) stages {
				return stages{
					0: c.pod(t, "api", 3, false, false), 5 * time.Second: c.pod(t, "api", 3, true, false), 60 * time.Second: deployment(c, "db", available),
					85 * time.Second: c.pod(t, "api", 4, false, false), 95 * time.Second: c.pod(t, "api", 4, true, false),
				}
			}, "pod api: container c was restarted 4 times", 107 * time.Second,
		},
		"a container that runs once more": {
			api, func(t *testing.T, c *cluster) stages {
				return stages{0: c.pod(t, "api", 5, false, false), 4 * time.Minute: deployment(c, "api", available)}
			}, "", 241 * time.Second,
		},
		"a hook that ends again and again until the application serves": {
			api + helper, func(t *testing.T, c *cluster) stages {
				return stages{
					0: c.pod(t, "work", 3, true, false), 100 * time.Second: deployment(c, "api", available),
					110 * time.Second: c.pod(t, "work", 4, false, false), 115 * time.Second: jobs(c, "work", complete),
				}
			}, "", 117 * time.Second,
		},
		"a hook that ends again and again": {
			helper, func(t *testing.T, c *cluster) stages { return stages{0: c.pod(t, "work", 3, true, false)} },
			"post-install hook Job work (app.yaml): it has not completed, with 0 pods active: pod work: container c was restarted 3 times, the last time after exit code 137 (Error); its last lines:", 22 * time.Second,
		},
		"an image that is not there, beside what is on its way": {
			api + work, func(t *testing.T, c *cluster) stages {
				p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "api", Namespace: "other", Labels: map[string]string{"app": "api"}}}
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "migrate", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such host"}}}}
				return stages{0: jobs(c, "work", active), time.Second: func() { _ = c.client.Tracker().Add(&p) }}
			}, "pod api: init container migrate: ErrImagePull: no such host", 23 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(map[string]string{"web": available})
				c.mapper.known[schema.GroupKind{Group: "apps", Kind: "StatefulSet"}] = meta.RESTScopeNamespace
				d, _ := c.deployment(t, "", inShop+test.text)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				d.Created = func(context.Context, app.Stage) error {
					if _, err := c.Tracker().Get(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "shop", "web"); err == nil {
						test.play(t, c).play(t)
					}
					return nil
				}
				began := time.Now()
				errtest.Check(t, d.Deploy(ctx), test.want)
				if took := time.Since(began); took > test.after || took < test.after*9/10-2*time.Second {
					t.Errorf("it took %s, want about %s", took, test.after)
				}
			})
		})
	}
}

// While something is awaited, what Kubernetes warns of is said. A readiness probe that fails ends no wait, and is the last word of one that ends.
func TestWhatIsAwaitedSaysWhatKubernetesWarnsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(nil)
		d, _ := c.deployment(t, "", inShop+api)
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "api", Namespace: "other", Labels: map[string]string{"app": "api"}}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "migrate", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		stages{
			0: func() { _ = c.client.Tracker().Add(&p) }, 10 * time.Second: c.pod(t, "api", 0, false, false), 9 * time.Second: c.note(t, time.Second, "Pod", "api", "Unhealthy", "Readiness probe failed: connection refused"),
			12 * time.Second: c.note(t, 2*time.Second, "Pod", "gone", "Unhealthy", "of a pod that is not there"),
		}.play(t)
		seen := map[string]bool{}
		ctx := poll.Listen(t.Context(), func(_, saw string, _ bool) { seen[saw] = true })
		const want = "pod api: Unhealthy: Readiness probe failed: connection refused"
		errtest.Check(t, d.Deploy(ctx), want)
		for _, one := range []string{want, "pod api: init container migrate has not ended"} {
			if !seen["Deployment api (app.yaml): Replicas: 0/1: "+one] {
				t.Errorf("seen: %v, want %s", slices.Collect(maps.Keys(seen)), one)
			}
		}
	})
}

// The same is said of a tested workload. A deadline for progress that has passed is enough, pods of others do not matter, and what waits for a
// container that runs once more is not hopeless when the others have become ready.
func TestLookAtATestedWorkload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(nil)
		d, _ := c.deployment(t, "", "")
		d.App.Namespace = "other"
		d.App.Manifests[0].Object.SetNamespace("other")
		if err := c.Tracker().Create(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, d.App.Manifests[0].Object.DeepCopy(), "other"); err != nil {
			t.Fatal(err)
		}
		stray := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stray", Namespace: "other", Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "web", Controller: new(true)}}}}
		stray.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no node"}}
		if err := c.client.Tracker().Add(stray); err != nil {
			t.Fatal(err)
		}
		look := func(after time.Duration, status string, wantHopeless bool, want string) {
			t.Helper()
			c.becomes(t, "apps/v1", "Deployment", "web", status)()
			time.Sleep(after)
			w := app.Workload{Controller: workloads.Controller{Name: "web", Kind: workloads.Deployment}}
			if said, hopeless, err := d.Look(t.Context(), w); err != nil || hopeless != wantHopeless || said != want {
				t.Errorf("%q, %t, %v; want %q, %t", said, hopeless, err, want, wantHopeless)
			}
		}
		const overdue = "{conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: it took too long}]}"
		look(0, "{}", false, "Replicas: 0/1")
		look(time.Second, overdue, false, "Progress deadline exceeded")
		look(time.Second, refusedPods, false, "Updated: 0/1: no further pod is created: "+noPods)
		look(61*time.Second, refusedPods, true, "Updated: 0/1: no further pod is created: "+noPods)
		look(time.Second, "{}", false, "Replicas: 0/1")
		look(time.Second, overdue, false, "Progress deadline exceeded")
		look(deploy.StuckAfter+time.Second, overdue, true, "Progress deadline exceeded")
		look(time.Second, available, false, "Deployment is available. Replicas: 1")
	})
}
