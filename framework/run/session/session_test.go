package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/run/intent"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// stage is a cluster in memory with Deployment web of two replicas, held by a run. It has no rolling updates, and does not end pods that are too many.
type stage struct {
	*clustertest.Cluster
	*Session
	said []string

	mu    sync.Mutex // the run renews its Lease beside the test
	wrote []string   // since the run holds the cluster
	web   disturb.Object
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Cluster: clustertest.New("staging", clusters.Spec{Zones: []string{"a", "b"}})}
	s.Owners = true
	if err := s.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	admin, labels := kubernetes.NewForConfigOrDie(s.Config()), map[string]string{"app": "web"}
	for _, n := range []string{"shop", "holdfast", "default"} {
		s.Put("/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n, Labels: map[string]string{"app.kubernetes.io/part-of": "holdfast"}}})
	}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
	}}
	web, err := admin.AppsV1().Deployments("shop").Create(t.Context(), web, metav1.CreateOptions{FieldManager: "kubectl-create"})
	if err != nil {
		t.Fatal(err)
	}
	healer := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "holdfast", Name: "healer"}, Spec: *web.Spec.DeepCopy()}
	if _, err := admin.AppsV1().Deployments("holdfast").Create(t.Context(), healer, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.web = disturb.Object{Kind: disturb.KindDeployment, Namespace: "shop", Name: "web", UID: web.UID}
	s.Session = &Session{options: Options{
		Access: existing.Of("staging", "shop", s.Config()), Out: io.Discard,
		Intent: intent.Intent{Request: disturb.Request{Namespace: "shop", Home: "holdfast", Limits: disturb.Limits{Failures: 3}}},
		Say:    func(format string, args ...any) { s.said = append(s.said, fmt.Sprintf(format, args...)) },
	}, identity: recording.Run{ID: "run-1", Dir: t.TempDir()}}
	for _, own := range []struct{ verbs, group, resource string }{
		{"create update delete", "coordination.k8s.io", "leases"},
	} {
		for verb := range strings.FieldsSeq(own.verbs) {
			s.Plan.Own = append(s.Plan.Own, disturb.Own{Verb: verb, Group: own.group, Resource: own.resource, Namespace: "holdfast"})
		}
	}
	for _, namespace := range []string{"shop", "default"} {
		s.Plan.Own = append(s.Plan.Own, disturb.Own{Verb: "create", Resource: "events", Namespace: namespace})
	}
	s.Sent = func(method, path, _ string) {
		if method != "GET" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.wrote = append(s.wrote, method+" "+path)
		}
	}
	client, err := s.client(nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.held, err = hold.Take(t.Context(), client, "run-1", "holdfast test --disturb", hold.Options{Cluster: "staging", Foreign: true, Context: "staging"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// writes are what was written so far.
func (s *stage) writes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.wrote)
}

// step is a fault with its touches, as a plan has it.
func (s *stage) step(fault string) disturb.Step {
	pod, node := s.List("/api/v1/namespaces/shop/pods")[0], s.Get("/api/v1/nodes/wa1")
	on := disturb.Object{Kind: disturb.KindNode, Name: "wa1", UID: node.GetUID()}
	evict := disturb.Touch{
		Object: disturb.Object{Kind: disturb.KindPod, Namespace: "shop", Name: pod.GetName(), UID: pod.GetUID()}, Does: "evict",
		Verb: "create", Resource: "pods", Subresource: "eviction",
	}
	note := disturb.Touch{Object: on, Does: "annotate", Verb: "patch", Resource: "nodes", Field: string(undo.Command)}
	cordon := disturb.Touch{Object: on, Does: "cordon", Verb: "patch", Resource: "nodes", Field: string(undo.Unschedulable)}
	scale := disturb.Touch{Object: s.web, Does: "scale", Verb: "patch", Group: "apps", Resource: "deployments", Field: string(undo.Replicas), Ours: []string{"3", "2", "1"}}
	step := disturb.Step{Fault: fault, Does: "something", Workload: s.web, Touches: map[string][]disturb.Touch{
		catalogue.Rollout.Name: {{
			Object: s.web, Does: "restart", Verb: "patch", Group: "apps", Resource: "deployments", Field: catalogue.Rollout.Edits,
		}},
		catalogue.DeletePod.Name: {evict}, catalogue.Drain.Name: {cordon, evict}, catalogue.Cordon.Name: {cordon},
		catalogue.Scale.Name: {scale}, catalogue.NodeKill.Name: {note},
	}[fault]}
	if step.Touches[0].Object == on {
		step.Node = &on
	}
	step.Box.Duration = time.Minute
	return step
}

// settles has the controller of web end the pods that are too many, a second after it is scaled.
func (s *stage) settles() {
	sent := s.Sent
	s.Sent = func(method, path, body string) {
		sent(method, path, body)
		if method != "PATCH" || !strings.HasSuffix(path, "/deployments/web") {
			return
		}
		time.AfterFunc(time.Second, func() {
			d := s.Get("/apis/apps/v1/namespaces/shop/deployments/web").(*appsv1.Deployment).DeepCopy()
			n := *d.Spec.Replicas
			if n == d.Status.Replicas { // it has settled already, and the run goes on
				return
			}
			for _, p := range s.List("/api/v1/namespaces/shop/pods")[n:] {
				s.Forget("/api/v1/namespaces/shop/pods/" + p.GetName())
			}
			d.Status = appsv1.DeploymentStatus{Replicas: n, UpdatedReplicas: n, AvailableReplicas: n, ReadyReplicas: n}
			s.Put("/apis/apps/v1/namespaces/shop/deployments", d)
		})
	}
}

// harm are the requests of a recording: how many have failed, and for how long a load worker was silent.
type harm func() (failed uint64, silent time.Duration)

func (h harm) Requests() (sent, failed uint64) {
	failed, _ = h()
	return failed, failed
}

func (h harm) Silent() time.Duration {
	_, silent := h()
	return silent
}

// play plays a step, of which so many requests have failed.
func (s *stage) play(ctx context.Context, t *testing.T, step disturb.Step, load harm) error {
	t.Helper()
	i, err := s.injection(step)
	if err != nil {
		t.Fatal(err)
	}
	return s.Session.play(ctx, i, load)
}

// asBefore fails unless nothing is left of a step.
func (s *stage) asBefore(t *testing.T) {
	t.Helper()
	if n := s.Get("/api/v1/nodes/wa1").(*corev1.Node); n.Spec.Unschedulable || n.Annotations[undo.Annotation] != "" {
		t.Errorf("the node is left as %+v", n)
	}
	if s.left != nil {
		t.Error(s.left)
	}
}

func none() (uint64, time.Duration) { return 0, 0 }

// Rule 20: each object on which something is done has an Event that says so beforehand, and one that says that it is undone. Nothing else is written than
// what the plan prints.
func TestEachFaultIsAnnouncedDoneAndUndone(t *testing.T) {
	for fault, events := range map[string]int{
		catalogue.Rollout.Name: 2, catalogue.DeletePod.Name: 1, catalogue.Drain.Name: 3, catalogue.Cordon.Name: 2, catalogue.Scale.Name: 2,
	} {
		t.Run(fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.settles()
				if err := s.play(t.Context(), t, s.step(fault), none); err != nil {
					t.Errorf("%v\n%s", err, strings.Join(s.said, "\n"))
				}
				s.asBefore(t)
				if last := s.said[len(s.said)-1]; last != "  undone" || !slices.Contains(s.said, "  in force") {
					t.Errorf("said\n%s", strings.Join(s.said, "\n"))
				}
				told := s.List("/api/v1/namespaces/shop/events")
				told = append(told, s.List("/api/v1/namespaces/default/events")...)
				if len(told) != events {
					t.Errorf("%d Events, want %d", len(told), events)
				}
				first := slices.IndexFunc(s.writes(), func(w string) bool { return strings.HasSuffix(w, "/events") })
				change := slices.IndexFunc(s.writes(), func(w string) bool {
					return strings.Contains(w, "/nodes/") || strings.HasSuffix(w, "/eviction") || strings.Contains(w, "/deployments/")
				})
				if first < 0 || change < first {
					t.Errorf("it is not announced before it is done: %q", s.writes())
				}
				if err := s.held.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What cannot be announced is not done.
func TestNothingIsDoneInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.Plan.Own = slices.DeleteFunc(s.Plan.Own, func(o disturb.Own) bool { return o.Resource == "events" })
		if err := s.play(t.Context(), t, s.step(catalogue.Cordon.Name), none); err == nil || !strings.Contains(err.Error(), "announce on Node wa1") {
			t.Error(err)
		}
		if slices.ContainsFunc(s.writes(), func(w string) bool { return strings.Contains(w, "/nodes/") }) {
			t.Errorf("it wrote %q", s.writes())
		}
		s.asBefore(t)
		_ = s.held.Release(t.Context())
	})
}

// Rule 14: when more requests have failed than may, or when that cannot be known any more, the fault is undone within a second, although it would have
// lasted for longer.
func TestStopAtHarm(t *testing.T) {
	for name, test := range map[string]struct {
		fails  uint64
		silent time.Duration
		want   error // its type; nil: no harm is seen
	}{
		"as many as may fail": {3, 0, nil}, "one more": {4, 0, &HarmError{}}, "a worker was silent for a moment": {0, silentLimit, nil},
		"a worker cannot be reached": {0, silentLimit + time.Second, &SilentError{}}, "both": {4, time.Hour, &HarmError{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				began := time.Now()
				err := s.play(t.Context(), t, s.step(catalogue.Cordon.Name), func() (uint64, time.Duration) {
					if time.Since(began) > 5*time.Second {
						return test.fails, test.silent
					}
					return 0, 0
				})
				took := time.Since(began)
				if (err != nil) != (test.want != nil) {
					t.Errorf("%v", err)
				}
				var harm *HarmError
				var silent *SilentError
				if errors.As(err, &harm) != errors.As(test.want, &harm) || errors.As(err, &silent) != errors.As(test.want, &silent) {
					t.Errorf("%v, want a %T", err, test.want)
				}
				if test.want != nil && took > 7*time.Second || test.want == nil && took < lasting {
					t.Errorf("undone after %s", took)
				}
				s.asBefore(t)
				_ = s.held.Release(t.Context())
			})
		})
	}
}

// Rule 14, turned off: without the limit a fault lasts to its end, also if all requests fail.
func TestWithoutTheLimitAFaultGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.options.Intent.Request.Limits.Failures = math.MaxInt
		began := time.Now()
		err := s.play(t.Context(), t, s.step(catalogue.Cordon.Name), func() (uint64, time.Duration) { return 1_000_000, 0 })
		if took := time.Since(began); err != nil || took < lasting {
			t.Errorf("it ended after %s: %v", took, err)
		}
		s.asBefore(t)
		_ = s.held.Release(t.Context())
	})
}

// Rule 20, turned off: what is done without announcing it changes a node, and nothing in the cluster tells who has done it.
func TestWhatIsNotAnnouncedIsNotTold(t *testing.T) {
	for what, announced := range map[string]bool{"announced": true, "not announced": false} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				step := s.step(catalogue.Cordon.Name)
				i, err := s.injection(step)
				if err != nil {
					t.Fatal(err)
				}
				for _, touch := range step.Touches {
					if !announced { // so that the rule takes it for announced
						i.announced = append(i.announced, touch.Object)
					}
				}
				if err := i.inject(t.Context()); err != nil {
					t.Fatal(err)
				}
				told := s.List("/api/v1/namespaces/default/events")
				if n := s.Get("/api/v1/nodes/wa1").(*corev1.Node); !n.Spec.Unschedulable || len(told) > 0 != announced {
					t.Errorf("cordoned: %t, told by %d Events", n.Spec.Unschedulable, len(told))
				}
				if err := i.undo(t.Context()); err != nil {
					t.Error(err)
				}
				_ = s.held.Release(t.Context())
			})
		})
	}
}

// Between two writes of a step the cluster may lose another node, or the healer: then nothing more is done, and what was done is undone. That is asked before
// each write: also before the second half of a scale, each attempt of an eviction, and the user's own command.
func TestNothingMoreIsDoneOnceTheClusterIsNotSteady(t *testing.T) {
	const lost = "nothing more is done: node wb1: its condition Ready is Unknown"
	node := func(s *stage, name string, ready corev1.ConditionStatus, cordoned bool) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if there, is := s.Get("/api/v1/nodes/" + name).(*corev1.Node); is {
			n = there.DeepCopy()
		}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		n.Spec.Unschedulable = cordoned
		s.Put("/api/v1/nodes", n)
	}
	loses := func(s *stage) { node(s, "wb1", corev1.ConditionUnknown, false) }
	nothing := func(*stage) {}
	refuses := func(s *stage, times int, method, path string, with *apierrors.StatusError) {
		s.Refuse = func(m, p string) *apierrors.StatusError {
			if m != method || !strings.HasSuffix(p, path) || times == 0 {
				return nil
			}
			times--
			return with
		}
	}
	budget := func(s *stage) { refuses(s, 2, "POST", "/eviction", apierrors.NewTooManyRequests("the budget", 0)) }
	drain, scale, kill := catalogue.Drain.Name, catalogue.Scale.Name, catalogue.NodeKill.Name
	for name, test := range map[string]struct {
		fault   string
		begins  func(*stage)
		at      int // before which write, from 1
		becomes func(*stage)
		want    string
		wrote   map[string]int // by what the path ends with
	}{
		"another node is lost at first": {drain, nothing, 1, loses, lost, map[string]int{"/wa1": 0, "/eviction": 0}},
		"another node is lost":          {drain, nothing, 2, loses, lost, map[string]int{"/wa1": 1, "/eviction": 0}},
		"another node is cordoned": {drain, nothing, 2, func(s *stage) { node(s, "wb1", corev1.ConditionTrue, true) },
			"nothing more is done: node wb1: it is cordoned already", map[string]int{"/wa1": 1, "/eviction": 0}},
		"the healer is gone": {drain, nothing, 2, func(s *stage) { s.Forget("/apis/apps/v1/namespaces/holdfast/deployments/healer") },
			"look whether the healer is ready", map[string]int{"/wa1": 1, "/eviction": 0}},
		"the healer is not ready": {drain, nothing, 2, func(s *stage) {
			d := s.Get("/apis/apps/v1/namespaces/holdfast/deployments/healer").(*appsv1.Deployment).DeepCopy()
			d.Status.ReadyReplicas = 0
			s.Put("/apis/apps/v1/namespaces/holdfast/deployments", d)
		}, "nothing more is done: no healer pod is ready", map[string]int{"/wa1": 1, "/eviction": 0}},
		"a node is lost while a budget refuses":      {drain, budget, 3, loses, lost, map[string]int{"/wa1": 1, "/eviction": 1}},
		"a node is lost before one replica less":     {scale, nothing, 2, loses, lost, map[string]int{"/web": 2}}, // one more, and its undo
		"a node is lost before the command":          {kill, nothing, 2, loses, lost, map[string]int{"/wa1": 1}},
		"nothing happens while a budget refuses":     {drain, budget, 0, nothing, "", map[string]int{"/wa1": 1, "/eviction": 3}},
		"nothing happens":                            {scale, nothing, 0, nothing, "", map[string]int{"/web": 3}},
		"a node joins, and is not Ready at first":    {drain, nothing, 2, func(s *stage) { node(s, "wc1", corev1.ConditionFalse, false) }, "", map[string]int{"/wa1": 1, "/eviction": 1}},
		"a node joins, and it is cordoned":           {scale, nothing, 2, func(s *stage) { node(s, "wc1", corev1.ConditionTrue, true) }, "", map[string]int{"/web": 3}},
		"the API server is away during an eviction":  {drain, nothing, 3, func(s *stage) { refuses(s, 3, "GET", "/nodes", apierrors.NewServiceUnavailable("it is started again")) }, "", map[string]int{"/eviction": 1}},
		"the step's own node is not Ready meanwhile": {drain, nothing, 3, func(s *stage) { node(s, "wa1", corev1.ConditionUnknown, true) }, "", map[string]int{"/eviction": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.settles()
				mark := filepath.Join(t.TempDir(), "killed")
				s.options.Intent.Request.Hook = disturb.Hook{Command: "touch " + mark, Undo: "true"}
				i, err := s.injection(s.step(test.fault))
				if err != nil {
					t.Fatal(err)
				}
				test.begins(s)
				asks, calls := i.before, 0
				i.before = func(ctx context.Context) error {
					if calls++; calls == test.at {
						test.becomes(s)
					}
					return asks(ctx)
				}
				err = i.inject(t.Context())
				if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v, want %q", err, test.want)
				}
				for path, want := range test.wrote {
					n := 0
					for _, w := range s.writes() {
						if strings.HasSuffix(w, path) {
							n++
						}
					}
					if n != want {
						t.Errorf("%d writes to %s, want %d: %q", n, path, want, s.writes())
					}
				}
				if _, err := os.Stat(mark); err == nil {
					t.Error("the command was run")
				}
				_ = s.held.Release(t.Context())
			})
		})
	}
}

// Rule 22: the name of a node comes from the API server, which may lie. The shell finds it in a variable, and runs no part of it.
func TestANodesNameIsNotRun(t *testing.T) {
	for _, name := range []string{"w1", "w1; touch PWNED", "$(touch PWNED)", "x\ntouch PWNED", "'; touch PWNED; '", "-i"} {
		dir := t.TempDir()
		argv := withNode(name, `printf %s "$NODE" > name`)
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", name, err, out)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "name")); err != nil || string(got) != name {
			t.Errorf("the command was told %q of node %q, %v", got, name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "PWNED")); err == nil {
			t.Errorf("node %q was run", name)
		}
	}
}

// A fault that is not complete when its time is over is undone, and so is one that a signal ends.
func TestEachFaultEndsInTime(t *testing.T) {
	for name, test := range map[string]struct {
		box    time.Duration
		signal time.Duration
		want   string
	}{"the box": {10 * time.Second, time.Hour, "not complete after 10s"}, "a signal": {time.Minute, 5 * time.Second, "context"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				step := s.step(catalogue.Cordon.Name)
				step.Box.Duration = test.box
				ctx, cancel := context.WithTimeout(t.Context(), test.signal)
				defer cancel()
				began := time.Now()
				if err := s.play(ctx, t, step, none); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v, want %q", err, test.want)
				}
				if took := time.Since(began); took > 12*time.Second {
					t.Errorf("undone after %s", took)
				}
				s.asBefore(t)
				_ = s.held.Release(t.Context())
			})
		})
	}
}

// A run that has lost the cluster to a healer makes no further change, and says who has it.
func TestALostClusterIsNotDisturbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		admin := kubernetes.NewForConfigOrDie(s.Config())
		go func() {
			time.Sleep(3 * time.Second)
			sight, err := hold.NewWatch(admin).Look(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			held, err := hold.Seize(t.Context(), admin, sight, "healer x", "healer", hold.Options{Cluster: "here"})
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Minute)
			_ = held.Release(t.Context())
		}()
		err := s.play(t.Context(), t, s.step(catalogue.Cordon.Name), none)
		if err == nil || !strings.Contains(err.Error(), "healer x") {
			t.Errorf("%v", err)
		}
		time.Sleep(2 * time.Minute)
	})
}

// A plan of which something is refused is not begun: nothing is written, not even a Lease.
func TestARefusedPlanIsNotBegun(t *testing.T) {
	s := &Session{Plan: disturb.Plan{Steps: []disturb.Step{{Refusals: []disturb.Refusal{{Rule: 3}}}}}}
	if _, err := s.Run(t.Context(), recording.Run{}, "holdfast test"); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}

// Only what a plan prints is planned: the verb, the resource and the object, and not what is like it.
func TestPlanned(t *testing.T) {
	own := []disturb.Own{{Verb: "create", Resource: "pods", Subresource: "proxy", Namespace: "holdfast"}, {Verb: "delete", Resource: "configmaps", Namespace: "holdfast"}}
	step := &disturb.Step{Touches: []disturb.Touch{{Object: disturb.Object{Kind: disturb.KindNode, Name: "w1"}, Verb: "patch", Resource: "nodes"}}}
	for _, test := range []struct {
		p    existing.Permission
		want bool
	}{
		{existing.Permission{Verb: "patch", Resource: "nodes", Name: "w1"}, true},
		{existing.Permission{Verb: "patch", Resource: "nodes", Name: "w2"}, false},
		{existing.Permission{Verb: "delete", Resource: "nodes", Name: "w1"}, false},
		{existing.Permission{Verb: "delete", Resource: "configmaps", Namespace: "holdfast", Name: "holdfast-run-1"}, true},
		{existing.Permission{Verb: "delete", Resource: "configmaps", Namespace: "shop", Name: "web"}, false},
		{existing.Permission{Verb: "get", Resource: "pods", Subresource: "proxy", Namespace: "holdfast", Name: "load-0"}, true},
		{existing.Permission{Verb: "get", Resource: "pods", Subresource: "proxy", Namespace: "shop", Name: "web"}, false},
		{existing.Permission{Verb: "get", Resource: "configmaps", Subresource: "proxy", Namespace: "holdfast"}, false},
	} {
		if got := planned(own, step, test.p); got != test.want {
			t.Errorf("%s: planned %t", test.p, got)
		}
		if got := planned(own, nil, test.p); got && test.p.Resource == "nodes" {
			t.Errorf("%s: planned without the step", test.p)
		}
	}
}

// Half of a fault proves nothing, unless a promise was broken.
func TestCut(t *testing.T) {
	for outcome, want := range map[verdict.Outcome]runfolder.ScenarioResult{
		verdict.Held:     {Interrupted: "interrupted while the cluster was disturbed"},
		verdict.Unknown:  {Interrupted: "interrupted while the cluster was disturbed"},
		verdict.Violated: {Outcome: "violated", Verdicts: []json.RawMessage{json.RawMessage(`{}`)}},
	} {
		got := cut(runfolder.ScenarioResult{Outcome: string(outcome), Verdicts: []json.RawMessage{json.RawMessage(`{}`)}})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", outcome, diff)
		}
	}
}

// A step is judged by what is promised of its own fault's class, and by holdfast.yaml.
func TestAStepIsJudgedByItsOwnPromises(t *testing.T) {
	s := newStage(t)
	s.options.Intent.Promises = apptest.Promises{Each: apptest.Promise{SlowerBy: time.Second}}
	for _, fault := range catalogue.Faults {
		want := apptest.Voluntary
		if fault.Name == "node-kill" {
			want = apptest.Involuntary
		}
		o := s.recorded("app/"+fault.Name, disturb.Step{Fault: fault.Name, Of: fault, Workload: s.web})
		if o.Class != want || o.Promised.Each.SlowerBy != time.Second {
			t.Errorf("%s: class %d, promised %+v", fault.Name, o.Class, o.Promised)
		}
		if len(o.Does) == 0 || len(o.Does) != len(fault.Seen) || o.Does[0] != string(fault.Seen[0])+" of "+s.web.Namespace+"/"+s.web.Name {
			t.Errorf("%s: its record does not say as what it is seen: %q", fault.Name, o.Does)
		}
		if does := doesOf(disturb.Step{Fault: fault.Name, Of: fault, Workload: s.web, Node: &disturb.Object{Kind: disturb.KindNode, Name: "w1"}}); does[0] != string(fault.Seen[0])+" of w1" {
			t.Errorf("%s of a node: %q", fault.Name, does)
		}
	}
}

// Each step writes run.json, with the results of those before it. A run that is killed before the next one begins is not whole: the file lists all steps.
func TestARunThatIsKilledBetweenTwoStepsIsNotWhole(t *testing.T) {
	s := newStage(t)
	s.Plan.Steps = []disturb.Step{{Fault: "rollout", Workload: s.web}, {Fault: "scale", Workload: s.web}}
	want := []runfolder.Chosen{{Name: "app/rollout"}, {Name: "app/scale"}}
	first := s.recorded("app/rollout", s.Plan.Steps[0]).Run
	if diff := cmp.Diff(want, first.Chosen); diff != "" {
		t.Errorf("chosen (-want +got):\n%s", diff)
	}
	s.identity.Before = []runfolder.ScenarioResult{{Name: "app/rollout", Outcome: "violated"}}
	if second := s.recorded("app/scale", s.Plan.Steps[1]).Run; cmp.Diff(s.identity.Before, second.Before) != "" {
		t.Errorf("the second step forgets the first: %+v", second.Before)
	}
	killed := runfolder.File{ID: first.ID, Seed: 1, Ended: time.Unix(60, 0), Chosen: first.Chosen, Scenarios: []runfolder.ScenarioResult{{Name: "app/rollout", Outcome: "held"}}}
	if worth := judge.WorthOf(killed); worth != judge.RunUnknown {
		t.Errorf("a run that was killed after its first step is %s", worth)
	}
	if file := s.begun(); cmp.Diff(want, file.Chosen) != "" {
		t.Errorf("the run itself has chosen %v", file.Chosen)
	}
}
