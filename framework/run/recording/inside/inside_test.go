package inside

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	"github.com/holdfast-ha/holdfast/workloads"
)

// cluster is a cluster of others in memory, whose pods are all the same real load worker.
type cluster struct {
	*clustertest.Cluster
	mu    sync.Mutex
	wrote []string
	job   string          // the body of the last Job
	sums  map[string]bool // of the tokens with which workers were called
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Cluster: clustertest.New("staging", clusters.Spec{Zones: []string{"a"}, WorkersPerZone: 2})}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), shop, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.PodURL, c.sums = c.front(t, work(t)), map[string]bool{}
	c.Sent = func(method, path, body string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if method != http.MethodGet && !strings.Contains(path, "selfsubject") {
			c.wrote = append(c.wrote, method+" "+path)
		}
		if strings.HasSuffix(path, "/jobs") {
			c.job = body
		}
	}
	return c
}

// front passes calls on to a worker, and notes their tokens.
func (c *cluster) front(t *testing.T, worker string) string {
	t.Helper()
	to, err := url.Parse(worker)
	if err != nil {
		t.Fatal(err)
	}
	on := httputil.NewSingleHostReverseProxy(to)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.sums[collect.TokenSum(r.Header.Get("X-Holdfast-Token"))] = true
		c.mu.Unlock()
		on.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func work(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- collect.RunWorker(ctx, collect.WorkerOptions{Name: "load-0", Listener: l}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Logf("the load worker: %v", err) // a test may leave rows behind
		}
	})
	return "http://" + l.Addr().String()
}

func (c *cluster) options(t *testing.T, url string) recording.Options {
	t.Helper()
	return recording.Options{
		Access: existing.Of("staging", "shop", c.Config()), Namespaces: []string{"shop"}, Before: 2 * time.Second, Settled: time.Second, Say: t.Logf,
		Probes: []apptest.Probe{apptest.OfURL(url, 0)}, From: history.LoadInside, Inside: Workers(c.Config(), Options{Image: "r.test/holdfast:1"}),
		Run: recording.Run{ID: "r1", Dir: filepath.Join(t.TempDir(), "r1"), Scenario: "record/shop"},
	}
}

// All that a recording with load from inside writes: a namespace of its own with a Job, which it removes.
func TestTheWorkersAreAllThatIsWritten(t *testing.T) {
	c := newCluster(t)
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(shop.Close)
	var made *corev1.Namespace
	body := func(ctx context.Context, s *recording.Session) error {
		list, err := s.Client().CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		for i := range list.Items {
			if strings.HasPrefix(list.Items[i].Name, hold.LoadPrefix) {
				made = &list.Items[i]
			}
		}
		return err
	}
	o := c.options(t, shop.URL)
	if _, err := recording.Record(t.Context(), o, body); err != nil {
		t.Fatal(err)
	}
	if made == nil || made.Annotations[hold.ExpiresKey] == "" || made.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Fatalf("namespace %+v", made)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.wrote {
		ours := strings.HasSuffix(w, "/namespaces") || strings.Contains(w, "/namespaces/"+made.Name)
		if !ours {
			t.Errorf("the recording wrote %s", w)
		}
	}
	if at := "/api/v1/namespaces/" + made.Name; !slices.Contains(c.wrote, "DELETE "+at) || c.Get(at) != nil {
		t.Errorf("%s is left; sent: %v", at, c.wrote)
	}
	for sum := range c.sums { // the workers are told it, and take no other orders
		if len(c.sums) != 1 || sum == collect.TokenSum("") || !strings.Contains(c.job, workloads.EnvTokenSum) || !strings.Contains(c.job, sum) {
			t.Errorf("called with %d tokens, one of the sum %s; the Job: %s", len(c.sums), sum, c.job)
		}
	}
	run, err := history.Open(filepath.Join(o.Run.Dir, "record", "shop"))
	if err != nil || run.Incomplete != "" {
		t.Fatal(err, run.Incomplete)
	}
	rows := 0
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Lane != history.LaneControl {
			rows++
		}
	}
	if rows < 30 || run.Header.Recorded.Load != history.LoadInside {
		t.Errorf("%d rows, %+v", rows, run.Header.Recorded)
	}
}

// In a namespace that an administrator has made, a Job is all that is written, and it is removed. Nothing else in the namespace is.
func TestWorkersAtHome(t *testing.T) {
	c := newCluster(t)
	client := kubernetes.NewForConfigOrDie(c.Config())
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "holdfast"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.wrote = nil
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(shop.Close)
	o := c.options(t, shop.URL)
	o.Inside = Workers(c.Config(), Options{Image: "r.test/holdfast:1", Home: "holdfast", Avoid: []string{"wa1"}})
	body := func(ctx context.Context, s *recording.Session) error {
		pods, err := s.Client().CoreV1().Pods("holdfast").List(ctx, metav1.ListOptions{})
		for _, p := range pods.Items {
			if p.Spec.NodeName == "wa1" {
				t.Errorf("pod %s is on the node that is to be disturbed", p.Name)
			}
		}
		if len(pods.Items) != 1 {
			t.Errorf("%d pods", len(pods.Items))
		}
		return err
	}
	if _, err := recording.Record(t.Context(), o, body); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.wrote {
		if !strings.Contains(w, "/namespaces/holdfast/jobs") && !strings.Contains(w, "/namespaces/holdfast/pods/") {
			t.Errorf("the recording wrote %s", w)
		}
	}
	if jobs := c.List("/apis/batch/v1/namespaces/holdfast/jobs"); len(jobs) > 0 || c.Get("/api/v1/namespaces/holdfast") == nil {
		t.Errorf("%d Jobs are left, and the namespace is %v", len(jobs), c.Get("/api/v1/namespaces/holdfast"))
	}
}

// Who may not remove what it makes makes nothing.
func TestWithoutPermissionNothingIsWritten(t *testing.T) {
	for _, p := range Needs() {
		c := newCluster(t)
		c.May = func(a authorizationv1.ResourceAttributes) bool {
			return a.Verb != p.Verb || a.Resource != p.Resource || a.Subresource != p.Subresource || a.Namespace != ""
		}
		_, err := recording.Record(t.Context(), c.options(t, "http://127.0.0.1:1/"), recording.Wait(time.Second))
		if err == nil || !strings.Contains(err.Error(), "this user must not "+p.String()) {
			t.Errorf("%s: %v", p, err)
		}
		if len(c.wrote) > 0 {
			t.Errorf("%s: it wrote %v", p, c.wrote)
		}
	}
}

// What was begun is removed, whatever goes wrong. A namespace that another client has made meanwhile under the name is left alone.
func TestWhatWasBegunIsRemoved(t *testing.T) {
	c := newCluster(t)
	c.Refuse = func(method, path string) *apierrors.StatusError {
		if method == http.MethodPost && strings.HasSuffix(path, "/jobs") {
			return apierrors.NewForbidden(corev1.Resource("jobs"), "", errors.New("a policy wants limits"))
		}
		return nil
	}
	_, err := recording.Record(t.Context(), c.options(t, "http://127.0.0.1:1/"), recording.Wait(time.Second))
	if err == nil || !strings.Contains(err.Error(), "a policy wants limits") {
		t.Errorf("got %v", err)
	}
	for _, w := range c.wrote {
		name, is := strings.CutPrefix(w, "DELETE /api/v1/namespaces/")
		if is && c.Get("/api/v1/namespaces/"+name) != nil {
			t.Errorf("namespace %s is left", name)
		}
	}
	if !slices.ContainsFunc(c.wrote, func(w string) bool { return strings.HasPrefix(w, "DELETE /api/v1/namespaces/"+hold.LoadPrefix) }) {
		t.Errorf("nothing was removed: %v", c.wrote)
	}
}

func TestAnotherNamespaceOfTheNameIsLeft(t *testing.T) {
	c := newCluster(t)
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	m := &maker{client: client, namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "another"}}}
	if err := m.remove(t.Context()); err != nil {
		t.Error(err)
	}
	if c.Get("/api/v1/namespaces/shop") == nil {
		t.Error("a namespace of somebody else was deleted")
	}
}

// A load worker that is lost is missing evidence, and no failure of holdfast's: the recording is judged, and its record says what is missing.
func TestALostWorkerIsMissingEvidence(t *testing.T) {
	c := newCluster(t)
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(shop.Close)
	var gone atomic.Bool
	worker, err := url.Parse(c.PodURL)
	if err != nil {
		t.Fatal(err)
	}
	through := httputil.NewSingleHostReverseProxy(worker)
	way := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !gone.Load() {
			through.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(apierrors.NewNotFound(corev1.Resource("pods"), "load-0").ErrStatus)
	}))
	t.Cleanup(way.Close)
	c.PodURL = way.URL
	body := func(context.Context, *recording.Session) error {
		gone.Store(true)
		return nil
	}
	o := c.options(t, shop.URL)
	file, err := recording.Record(t.Context(), o, body)
	if err != nil || file.Outcome != string(verdict.Unknown) {
		t.Fatalf("%v, %s", err, file.Outcome)
	}
	run, err := history.Open(filepath.Join(o.Run.Dir, "record", "shop"))
	if err != nil || !slices.ContainsFunc(run.Troubles(), func(e history.Event) bool { return strings.Contains(e.Trouble.What, "the load worker is gone") }) {
		t.Errorf("%v, %d troubles", err, len(run.Troubles()))
	}
}
