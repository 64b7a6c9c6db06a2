package recording

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// staging is a cluster of others, in memory, with Deployment web of three replicas in namespace shop.
type staging struct {
	*clustertest.Cluster
	admin kubernetes.Interface // of whoever changes the cluster

	mu    sync.Mutex
	wrote []string // requests of the recorder that are no reads
	admit bool     // the administrator is at work
}

func newStaging(t *testing.T) *staging {
	t.Helper()
	s := &staging{Cluster: clustertest.New("staging", clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 1})}
	admin, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	s.admin = admin
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if _, err := admin.CoreV1().Namespaces().Create(t.Context(), shop, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	web.Spec.Replicas, web.Spec.Selector = new(int32(3)), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	web.Spec.Template = corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: web.Spec.Selector.MatchLabels}, Spec: corev1.PodSpec{NodeSelector: map[string]string{clusters.LabelRole: "worker"}},
	}
	if _, err := admin.AppsV1().Deployments("shop").Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Sent = func(method, path, _ string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.admit && method != "GET" {
			s.wrote = append(s.wrote, method+" "+path)
		}
	}
	return s
}

// change changes the cluster as its administrator.
func (s *staging) change(do func(kubernetes.Interface) error) error {
	s.set(true)
	defer s.set(false)
	return do(s.admin)
}

func (s *staging) set(admit bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit = admit
}

// deletePod deletes a pod of web, and its controller makes another.
func (s *staging) deletePod(ctx context.Context) error {
	return s.change(func(c kubernetes.Interface) error {
		pods, err := c.CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		return c.CoreV1().Pods("shop").Delete(ctx, pods.Items[0].Name, metav1.DeleteOptions{})
	})
}

// forbid forbids listing and watching some kinds of objects, by their resources.
func (s *staging) forbid(resources ...string) {
	s.May = func(a authorizationv1.ResourceAttributes) bool {
		for _, r := range resources {
			if a.Resource == r {
				return false
			}
		}
		return true
	}
	s.Refuse = refusing(resources)
}

// said are the lines for the user.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *said) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.lines, "\n"), text)
}

// options are those of a recording of namespace shop.
func (s *staging) options(t *testing.T) (Options, *said) {
	t.Helper()
	lines := &said{}
	return Options{
		Access: existing.Of("staging", "shop", s.Config()), Namespaces: []string{"shop"}, Before: 5 * time.Second, Say: lines.say,
		Run: Run{ID: "r1", Dir: filepath.Join(t.TempDir(), "r1"), Scenario: "record/shop", Claim: "nothing happens", Holdfast: "v0"},
	}, lines
}

// recorded is the record of a run.
func recorded(t *testing.T, o Options) history.Run {
	t.Helper()
	r, err := history.Open(path.Join(o.Run.Dir, o.Run.Scenario))
	if err != nil {
		t.Fatal(err)
	}
	if r.Incomplete != "" {
		t.Errorf("the record is incomplete: %s", r.Incomplete)
	}
	return r
}
