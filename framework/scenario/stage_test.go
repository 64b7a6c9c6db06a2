package scenario

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/verdict"
	"github.com/holdfast-ha/holdfast/workloads"
)

// newStage is a scenario's stage on a town, connected, with nothing deployed yet, and how to read its record.
func newStage(t *testing.T, s Spec) (*stage, *town, func() history.Run) {
	t.Helper()
	c := newCounty(t)
	home := newTown("0", s.Cluster)
	dir := t.TempDir()
	w, err := history.Create(dir, history.Header{Scenario: s.Name})
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{run: c.run, spec: s, cluster: home, writer: w, namespace: namespaceOf(s), backend: "backend", image: "i"}
	if err := st.connect(); err != nil {
		t.Fatal(err)
	}
	return st, home, func() history.Run {
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

// unreachable is a cluster whose Config makes no sense.
type unreachable struct{ *town }

func (unreachable) Config() *rest.Config {
	return &rest.Config{Host: "https://api.test", TLSClientConfig: rest.TLSClientConfig{Insecure: true, CAData: []byte("ca")}}
}

func TestAClusterThatCannotBeReachedIsNamed(t *testing.T) {
	st := &stage{cluster: unreachable{newTown("0", quiet().Cluster)}}
	if err := st.connect(); err == nil || !strings.HasPrefix(err.Error(), "connect to cluster 0: ") {
		t.Errorf("got %v", err)
	}
	if err := st.clear(t.Context()); err != nil {
		t.Errorf("nothing was made there, and clearing it says %v", err)
	}
}

// checkError wants an error that contains a text, or none.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v, want no error", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got  %v\nwant an error with %s", err, want)
	}
}

func TestIntact(t *testing.T) {
	cordon := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	for name, test := range map[string]struct {
		spoil func(*town)
		want  string
	}{
		"as it was": {func(*town) {}, ""},
		"a control plane's own taint": {func(h *town) {
			h.editNode("cp", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane"}} })
		}, ""},
		"it takes a moment": {func(h *town) {
			h.editNode("wa1", cordon)
			time.AfterFunc(50*time.Second, func() {
				h.editNode("wa1", func(n *corev1.Node) { n.Spec.Unschedulable = false })
			})
		}, ""},
		"everything is wrong": {func(h *town) {
			h.editNode("wa1", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })
			h.editNode("wa2", func(n *corev1.Node) { n.Status.Conditions = nil })
			h.editNode("wb1", cordon)
			h.editNode("wb2", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/unreachable"}} })
			h.machines[0].become(clusters.Exited)
			h.machines[1].become(clusters.Paused)
		}, "waited 1m0s for cluster 0 to be as it was: last seen node wa1 has Ready=False, node wa2 has Ready=Unknown, " +
			"node wb1 is cordoned, node wb2 has taint node.kubernetes.io/unreachable, machine cp is exited, machine load is paused ("},
		"the cluster's own pods are there": {func(h *town) { h.put(systemSets, kubeProxy(3, 3)); h.put(systemDeployments, coreDNS(2)) }, ""},
		"the cluster's own pods are away": {
			func(h *town) { h.put(systemSets, kubeProxy(3, 2)); h.put(systemDeployments, coreDNS(0)) },
			"last seen DaemonSet kube-proxy has 2 of 3 pods available, Deployment coredns has 0 of 2 pods available (",
		},
		"no controller has read what the cluster's own pods should be": {func(h *town) {
			proxy, dns := kubeProxy(3, 3), coreDNS(2)
			proxy.Generation, dns.Generation = 2, 2
			h.put(systemSets, proxy)
			h.put(systemDeployments, dns)
		}, "last seen DaemonSet kube-proxy has 3 of 3 pods available, by status of generation 1 of 2"},
		"a node left the cluster": {
			func(h *town) { delete(h.objects, "/api/v1/nodes/wc2") }, "last seen node wc2 is not there (",
		},
		"the engine is away": {
			func(h *town) { h.machines[3].err = fmt.Errorf("no engine") }, "last error: no engine)",
		},
		"the API server is away": {
			func(h *town) {
				h.refuse = func(string, string) *apierrors.StatusError { return apierrors.NewServiceUnavailable("starting") }
			}, "last error: starting)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, home, _ := newStage(t, quiet())
				test.spoil(home)
				checkError(t, st.intact(t.Context()), test.want)
			})
		})
	}
}

const (
	systemSets        = "/apis/apps/v1/namespaces/kube-system/daemonsets"
	systemDeployments = "/apis/apps/v1/namespaces/kube-system/deployments"
)

func kubeProxy(want, available int32) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-proxy", Namespace: metav1.NamespaceSystem, Generation: 1},
		Status:     appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: want, NumberAvailable: available},
	}
}

func coreDNS(available int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "coredns", Namespace: metav1.NamespaceSystem, Generation: 1},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 1, AvailableReplicas: available},
	}
}

// A fault's client leaves a trace of each eviction, whoever asks for it, and none of what the harness itself does.
func TestWhatFaultsEvictIsRecorded(t *testing.T) {
	st, _, read := newStage(t, quiet())
	if err := st.create(t.Context(), workloads.Namespace(st.namespace)); err != nil {
		t.Fatal(err)
	}
	target, err := st.target(st.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	if target.Namespace != st.namespace || target.Workload != "backend" || target.Cluster != st.cluster {
		t.Errorf("target: %+v", target)
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p1", Namespace: st.namespace}}
	if err := target.Client.PolicyV1().Evictions(st.namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
	if err := st.client.PolicyV1().Evictions(st.namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
	var got []history.Eviction
	for _, e := range read().Events {
		if e.Eviction != nil {
			got = append(got, *e.Eviction)
		}
	}
	want := []history.Eviction{{Namespace: st.namespace, Pod: "p1", Accepted: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever creates or changes something for the scenario: what it uses that is deprecated is in the record, once.
func TestDeprecatedManifestsAreRecorded(t *testing.T) {
	st, home, read := newStage(t, quiet())
	home.warn = func(_, at string) string {
		switch path.Base(at) {
		case "poddisruptionbudgets":
			return "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+"
		case "configmaps":
			return "would be refused tomorrow"
		}
		return ""
	}
	objects, err := st.wanted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := st.create(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
	target, err := st.target(st.config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		policy := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "policy-"}}
		if _, err := target.Client.CoreV1().ConfigMaps(st.namespace).Create(t.Context(), policy, metav1.CreateOptions{DryRun: []string{"All"}}); err != nil &&
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

// flaky answers as a backend does, but each tenth request. It tells of each that was answered.
func flaky(t *testing.T) (url string, answered <-chan struct{}) {
	t.Helper()
	told := make(chan struct{}, 10_000) // more than any of these tests sends
	var mu sync.Mutex
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%10 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "ok %s\n", r.Header.Get("X-Holdfast-Id"))
		told <- struct{}{}
	}))
	t.Cleanup(s.Close)
	return s.URL, told
}

// workAt runs a real load worker, as it runs in a pod.
func workAt(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- load.RunWorker(ctx, load.WorkerOptions{Name: "load-0", Listener: l}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// Real load from a real worker, through an API server's proxy, into a record that is judged: also when the scenario is
// interrupted, what was sent is collected to the last request.
func TestLoadReachesTheRecord(t *testing.T) {
	for name, interrupted := range map[string]bool{"played to its end": false, "interrupted": true} {
		t.Run(name, func(t *testing.T) {
			c, s := newCounty(t), quiet()
			worker, curl := workAt(t), &script{answers: []string{"ok"}}
			c.founded = func(home *town) {
				home.worker = worker
				home.machines[1].exec = curl.exec
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			url, answered := flaky(t)
			wait := func(ctx context.Context) error {
				for range 40 {
					select {
					case <-answered:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				if interrupted {
					cancel()
				}
				return nil
			}
			s.Steady, s.Hold, s.Recovered = time.Millisecond, time.Millisecond, time.Millisecond
			s.Faults = []fault.Fault{errand{name: "a wait", do: wait}}
			s.Load = []load.Lane{{Lane: history.LaneReused, Target: url, Rate: 200}, {Lane: history.LaneControl, Rate: 50}}
			s.Promises = []invariant.Invariant{invariant.NoFailedRequests{}}
			if got := c.one(ctx, s); got.outcome != verdict.Violated || !strings.Contains(got.why, "bad-status") {
				t.Errorf("got %+v, want Violated: each tenth request fails", got)
			}
			own := len(curl.asked) - 1 // the endpoints' own addresses; the control lane's target is the worker itself
			if own < 1 || curl.asked[own] != url || slices.Contains(curl.asked[:own], url) {
				t.Errorf("before there was load %v was asked from the load node, want the endpoints and then %s", curl.asked, url)
			}
			checkLoad(t, c.recorded(s), interrupted)
			if !loadLine.MatchString(c.out.String()) {
				t.Errorf("said:\n%s", c.out.String())
			}
		})
	}
}

var loadLine = regexp.MustCompile(`steady \d+s: load flows, nothing is disturbed; \d+ requests, \d+ failed\n`)

// checkLoad wants a whole record in which each request that was planned has its row.
func checkLoad(t *testing.T, r history.Run, interrupted bool) {
	t.Helper()
	rows := map[history.Lane]uint64{}
	for row, err := range r.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		rows[row.Lane]++
	}
	planned := map[history.Lane]uint64{}
	for _, e := range r.Events {
		if e.Load != nil {
			planned[e.Load.Lane] = e.Load.Planned
		}
	}
	if diff := cmp.Diff(planned, rows); diff != "" || len(rows) != 2 || rows[history.LaneReused] < 40 || r.Incomplete != "" {
		t.Errorf("incomplete: %q; rows (-planned +recorded):\n%s", r.Incomplete, diff)
	}
	if trouble := strings.Join(troubles(r), "; "); (trouble == "context canceled") != interrupted || !interrupted && trouble != "" {
		t.Errorf("trouble: %q", trouble)
	}
}

// A load worker that is ready and does not answer is trouble, within a limit.
func TestALoadWorkerThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCounty(t), quiet()
		s.Load = []load.Lane{{Lane: history.LaneControl, Rate: 20}}
		got := c.one(t.Context(), s)
		trouble := strings.Join(troubles(c.recorded(s)), "; ")
		if got.outcome != verdict.Unknown || !strings.Contains(trouble, "start the load of load-0: start load hf-chaos-quiet: read clock: tried for 1m0s: ") {
			t.Errorf("got %+v, trouble: %s", got, trouble)
		}
	})
}
