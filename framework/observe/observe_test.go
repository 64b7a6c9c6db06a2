package observe

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// notebook is an in-memory sink.
type notebook struct {
	mu     sync.Mutex
	began  time.Time
	events []history.Event
	self   []history.Event // the harness's own events: echoes and noise
	full   error           // the error of Append, once set
}

func (n *notebook) Now() history.Offset { return time.Since(n.began) }

func (n *notebook) Append(e history.Event) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.full != nil {
		return n.full
	}
	if e.Noise != nil || e.Echo != nil {
		n.self = append(n.self, e)
		return nil
	}
	n.events = append(n.events, e)
	return nil
}

func (n *notebook) fill(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.full = err
}

// words abbreviates the events, in order.
func (n *notebook) words() (words []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		switch {
		case e.Pod != nil:
			words = append(words, string(e.Pod.Change)+" "+e.Pod.Name)
		case e.Node != nil:
			words = append(words, string(e.Node.Change)+" node "+e.Node.Name)
		case e.Workload != nil:
			words = append(words, string(e.Workload.Change)+" deployment "+e.Workload.Name)
		case e.Slice != nil:
			words = append(words, string(e.Slice.Change)+" slice "+e.Slice.Name)
		case e.Budget != nil:
			words = append(words, string(e.Budget.Change)+" budget "+e.Budget.Name)
		case e.KubeNote != nil:
			words = append(words, "note "+e.KubeNote.Reason)
		case e.Gap != nil:
			words = append(words, "gap since "+e.Gap.Since.String())
		}
	}
	return words
}

func wantWords(t *testing.T, n *notebook, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, n.words()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// scope is that of a scenario.
var scope = Scope{Namespaces: []string{"ns"}}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "ns"} }

// oneOfEach is a cluster with one object of each kind in the namespace, and some in another one.
func oneOfEach() []runtime.Object {
	return []runtime.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}},
		&corev1.Pod{ObjectMeta: named("mine")}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "elsewhere"}},
		&appsv1.Deployment{ObjectMeta: named("backend")},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "coredns", Namespace: "kube-system"}},
		&appsv1.StatefulSet{ObjectMeta: named("db")}, &appsv1.DaemonSet{ObjectMeta: named("agent")},
		&discoveryv1.EndpointSlice{ObjectMeta: named("backend-1")},
		&policyv1.PodDisruptionBudget{ObjectMeta: named("budget")},
		&corev1.Event{ObjectMeta: named("e1"), Reason: "Scheduled"},
	}
}

func TestStartHoldsThePresentStateOfEveryKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &notebook{began: time.Now()}
		w, err := Start(t.Context(), fake.NewClientset(oneOfEach()...), scope, sink)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"listed node w1", "listed mine", "listed deployment backend", "listed deployment db", "listed slice backend-1", "listed budget budget", "note Scheduled", "listed deployment agent"}
		wantWords(t, sink, want...)
		for range 2 {
			if err := w.Stop(); err != nil {
				t.Errorf("Stop: %v", err)
			}
		}
		wantWords(t, sink, want...) // a watch that is connected at the end leaves no gap
	})
}

func TestChangesAreDatedWhenTheyArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		sink := &notebook{began: time.Now()}
		w, err := Start(t.Context(), client, scope, sink)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		pods := client.CoreV1().Pods("ns")
		time.Sleep(3 * time.Second)
		p, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: named("p")}, metav1.CreateOptions{})
		synctest.Wait()
		time.Sleep(time.Second)
		p.Status.Phase = corev1.PodRunning
		_, updateErr := pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
		synctest.Wait()
		time.Sleep(2 * time.Second)
		deleteErr := pods.Delete(t.Context(), "p", metav1.DeleteOptions{})
		synctest.Wait()
		if err := errors.Join(err, updateErr, deleteErr, w.Stop()); err != nil {
			t.Fatal(err)
		}
		wantWords(t, sink, "added p", "modified p", "deleted p")
		for i, at := range []time.Duration{3 * time.Second, 4 * time.Second, 6 * time.Second} {
			if got := sink.events[i].T; got != at {
				t.Errorf("%s is dated %s, want %s", sink.words()[i], got, at)
			}
		}
	})
}

// TestAKindThatCannotBeListedFailsTheStart, and the watches that had been started are stopped.
func TestAKindThatCannotBeListedFailsTheStart(t *testing.T) {
	for _, kind := range []string{"nodes", "pods", "deployments", "statefulsets", "daemonsets", "endpointslices", "poddisruptionbudgets", "events", "leases"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // synctest fails if a goroutine is left
				client := fake.NewClientset(oneOfEach()...)
				client.PrependReactor("list", kind, func(k8stesting.Action) (bool, runtime.Object, error) {
					return true, nil, errors.New("forbidden")
				})
				w, err := Start(t.Context(), client, scope, &notebook{began: time.Now()})
				if w != nil || err == nil || err.Error() != "list "+kind+": forbidden" {
					t.Errorf("got %v, %v", w, err)
				}
			})
		})
	}
}

// TestStopReportsAWatchThatEndedBeforeItsTime: after its end the history lacks what the watch would have reported.
func TestStopReportsAWatchThatEndedBeforeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		sink := &notebook{began: time.Now()}
		w, err := Start(t.Context(), client, scope, sink)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		sink.fill(errors.New("disk full"))
		if _, err := client.CoreV1().Pods("ns").Create(t.Context(), &corev1.Pod{ObjectMeta: named("p")}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := w.Stop(); err == nil || err.Error() != "watch pods: disk full" {
			t.Errorf("Stop: %v", err)
		}
	})
}
