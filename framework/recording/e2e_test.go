//go:build e2e

package recording_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/existing/plain"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/framework/self"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// These tests record a real cluster that holdfast did not make, as a user who may only read it:
// go test -tags e2e -timeout 20m -run E2ECareful ./framework/recording, and the same with E2ECareless.

// stage is a plain cluster with holdfast, kubectl, and a user who may only read.
type stage struct {
	*plain.Cluster
	holdfast, kubectl, image string
	eve                      string // the kubeconfig of the user who records
}

// reads is what `holdfast record` needs.
var reads = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"pods", "events", "services"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"get", "list", "watch"}},
}

func newStage(t *testing.T, name string) *stage {
	t.Helper()
	ctx := t.Context()
	e, err := engine.Find(ctx, engine.Options{Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c, err := plain.Create(ctx, e, plain.Options{Name: name, Dir: dir, Zones: []string{"a", "b", "c"}, Audit: true, Kubernetes: os.Getenv("HOLDFAST_KUBERNETES")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	s := &stage{Cluster: c}
	cache, err := engine.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if s.holdfast, err = self.Path(ctx, cache); err != nil {
		t.Fatal(err)
	}
	ref, archive, err := image.Build(s.holdfast, filepath.Join(cache, "images"))
	if err != nil {
		t.Fatal(err)
	}
	s.image = ref
	kubectl, err := c.Kubectl(ctx)
	s.kubectl = kubectl
	if err := errors.Join(err, c.LoadImage(archive)); err != nil {
		t.Fatal(err)
	}
	if s.eve, err = c.User(ctx, "eve"); err != nil {
		t.Fatal(err)
	}
	return s
}

// deploy deploys an application, and returns when it serves. Eve may read it, and the nodes.
func (s *stage) deploy(t *testing.T, manifests string) (url string) {
	t.Helper()
	ctx := t.Context()
	nodes := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}}
	if err := errors.Join(s.Apply(ctx, manifests), s.Allow(ctx, "eve", "shop", reads...), s.Allow(ctx, "eve", "", nodes)); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	err = poll.Until(ctx, "web to serve", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		d, err := client.AppsV1().Deployments("shop").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return d.Status.AvailableReplicas == *d.Spec.Replicas, fmt.Sprintf("%d of %d", d.Status.AvailableReplicas, *d.Spec.Replicas), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	node, err := client.CoreV1().Nodes().Get(ctx, s.ControlPlane(), metav1.GetOptions{}) // which nothing takes away
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("http://%s:%d/", node.Status.Addresses[0].Address, plain.NodePort)
}

// record runs holdfast record as eve, around a command of the administrator's. It returns the exit code and all output.
func (s *stage) record(t *testing.T, args []string, script string) (code int, out string) {
	t.Helper()
	all := append([]string{"record", "--kubeconfig", s.eve, "-n", "shop"}, args...)
	all = append(all, "--", "sh", "-ec", script)
	cmd := exec.CommandContext(t.Context(), s.holdfast, all...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "ADMIN="+s.Kubeconfig(), "K="+s.kubectl+" --kubeconfig "+s.Kubeconfig())
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	began := time.Now()
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	t.Logf("record %s: exit code %d after %s\n%s", script, cmd.ProcessState.ExitCode(), time.Since(began).Round(time.Second), &text)
	s.judgedAgain(t, filepath.Join(cmd.Dir, "artifacts", "latest"), cmd.ProcessState.ExitCode())
	return cmd.ProcessState.ExitCode(), text.String()
}

// judgedAgain judges the stored record, which must give the same.
func (s *stage) judgedAgain(t *testing.T, run string, want int) {
	t.Helper()
	for _, command := range []string{"judge", "report"} {
		cmd := exec.CommandContext(t.Context(), s.holdfast, command, run)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
			t.Errorf("%s: %v, want exit code %d\n%s", command, err, want, out)
		}
		if command == "judge" {
			t.Logf("judged again:\n%s", out)
		}
	}
}

// onlyRead fails if eve has changed anything, by the API server's own log.
func (s *stage) onlyRead(t *testing.T) {
	t.Helper()
	all, err := s.Audited("eve")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Writes() || strings.Contains(r.RequestURI, "/secrets") {
			t.Errorf("eve sent %s", r)
		}
	}
	t.Logf("%d requests of eve, none of which changed anything", len(all))
}

const (
	restart = `$K -n shop rollout restart deployment/web; $K -n shop rollout status deployment/web --timeout 120s`
	drain   = `node=$($K -n shop get pods -l app=web -o jsonpath='{.items[0].spec.nodeName}')
$K drain "$node" --ignore-daemonsets --delete-emptydir-data --timeout 120s; $K uncordon "$node"`
)

// A careful application keeps every promise through a rollout and a drain. Nothing that happens shows nothing.
func TestE2ECareful(t *testing.T) {
	s := newStage(t, "careful")
	url := s.deploy(t, plain.Careful(s.image))
	for _, test := range []struct {
		script string
		args   []string
		code   int
		say    string
	}{
		{restart, []string{"--url", url}, 0, "1 rollout"},
		{drain, []string{"--url", url}, 0, "1 drain"},
		{"true", []string{"--url", url}, 5, "nothing was disturbed"},
	} {
		if code, out := s.record(t, test.args, test.script); code != test.code || !strings.Contains(out, test.say) && test.code != 0 {
			t.Errorf("%s: exit code %d, want %d and %q", test.script, code, test.code, test.say)
		}
	}
	s.onlyRead(t)
}

// A careless application loses requests at a rollout and at a drain.
func TestE2ECareless(t *testing.T) {
	s := newStage(t, "careless")
	url := s.deploy(t, plain.Careless(s.image))
	for _, script := range []string{restart, drain} {
		if code, _ := s.record(t, []string{"--url", url}, script); code != 1 {
			t.Errorf("%s: exit code %d, want 1", script, code)
		}
	}
	s.onlyRead(t)
}
