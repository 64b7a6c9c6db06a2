//go:build e2e

// Package plaintest is what the tests of clusters that holdfast did not make have in common: such a cluster with an application, and
// a user with few rights, who runs holdfast's commands.
package plaintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/existing/plain"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// Stage is a cluster that holdfast did not make, and a user eve, who may do nothing yet.
type Stage struct {
	*plain.Cluster
	T                        *testing.T
	Admin                    kubernetes.Interface
	Holdfast, Kubectl, Image string
	Eve                      string // her kubeconfig, whose only context is eve
	planned                  []write
}

// New makes a cluster with three workers in three zones and an audit log, of the version in HOLDFAST_KUBERNETES unless one is given. Its nodes have
// holdfast's image.
func New(t *testing.T, name, kubernetesVersion string) *Stage {
	t.Helper()
	ctx := t.Context()
	e, err := engine.Find(ctx, engine.Options{Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if kubernetesVersion == "" {
		kubernetesVersion = os.Getenv("HOLDFAST_KUBERNETES")
	}
	c, err := plain.Create(ctx, e, plain.Options{Name: name, Dir: t.TempDir(), Zones: []string{"a", "b", "c"}, Audit: true, Kubernetes: kubernetesVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	s := &Stage{Cluster: c, T: t, Admin: kubernetes.NewForConfigOrDie(c.Config())}
	cache, err := engine.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if s.Holdfast, err = self.Path(ctx, cache); err != nil {
		t.Fatal(err)
	}
	var archive string
	if s.Image, archive, err = image.Build(s.Holdfast, filepath.Join(cache, "images")); err != nil {
		t.Fatal(err)
	}
	s.Kubectl, err = c.Kubectl(ctx)
	if err := errors.Join(err, c.LoadImage(archive)); err != nil {
		t.Fatal(err)
	}
	if s.Eve, err = c.User(ctx, "eve"); err != nil {
		t.Fatal(err)
	}
	return s
}

// Deploy creates an application in namespace shop as people do who type commands: what the field manager "kubectl-create" owns, may be scaled.
// It returns when Deployment web is as its controller wants it and its Service answers, with a URL of its Service on a node that nothing takes away.
func (s *Stage) Deploy(manifests string) (url string) {
	s.T.Helper()
	create := exec.CommandContext(s.T.Context(), s.Kubectl, "--kubeconfig", s.Kubeconfig(), "create", "-f", "-")
	create.Stdin = strings.NewReader(manifests)
	if out, err := create.CombinedOutput(); err != nil {
		s.T.Fatalf("%v\n%s", err, out)
	}
	s.Settled("before anything")
	node, err := s.Admin.CoreV1().Nodes().Get(s.T.Context(), s.ControlPlane(), metav1.GetOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	url = fmt.Sprintf("http://%s:%d/", node.Status.Addresses[0].Address, plain.NodePort)
	client := http.Client{Timeout: 5 * time.Second} // a lost packet does not take the whole limit
	err = poll.Until(s.T.Context(), "the Service to answer on the control plane", time.Minute, func(context.Context) (bool, string, error) {
		answer, err := client.Get(url)
		if err != nil {
			return false, "", err // kube-proxy on this node does not have the endpoints yet
		}
		return answer.StatusCode == http.StatusOK, answer.Status, answer.Body.Close()
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return url
}

// Web is the Deployment of the application.
func (s *Stage) Web(ctx context.Context) (*appsv1.Deployment, error) {
	return s.Admin.AppsV1().Deployments("shop").Get(ctx, "web", metav1.GetOptions{})
}

// Settled returns when the application is as its controller wants it.
func (s *Stage) Settled(when string) {
	s.T.Helper()
	err := poll.Until(s.T.Context(), "web to settle "+when, 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		d, err := s.Web(ctx)
		if err != nil {
			return false, "", err
		}
		n := *d.Spec.Replicas
		return d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == n && d.Status.UpdatedReplicas == n && d.Status.AvailableReplicas == n,
			fmt.Sprintf("%+v", d.Status), nil
	})
	if err != nil {
		s.T.Fatal(err)
	}
}

// MayRead lets eve read what `holdfast record` watches in namespace shop, nodes, and the namespace whose UID identifies the cluster: without it,
// a recording cannot be resumed.
func (s *Stage) MayRead() {
	s.T.Helper()
	read := []string{"get", "list", "watch"}
	err := s.Allow(s.T.Context(), "eve", "shop",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods", "events", "services"}, Verbs: read},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets"}, Verbs: read},
		rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: read},
		rbacv1.PolicyRule{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: read})
	everywhere := s.Allow(s.T.Context(), "eve", "",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: read},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{metav1.NamespaceSystem}, Verbs: []string{"get"}})
	if err := errors.Join(err, everywhere); err != nil {
		s.T.Fatal(err)
	}
}

// Grant gives eve what `holdfast rbac` prints for some faults in namespace shop.
func (s *Stage) Grant(faults ...string) {
	s.T.Helper()
	roles, code := s.Run("rbac", "-n", "shop", "--faults", strings.Join(faults, ","), "--user", "eve")
	if code != 0 {
		s.T.Fatalf("rbac: exit code %d", code)
	}
	if err := s.Apply(s.T.Context(), roles); err != nil {
		s.T.Fatal(err)
	}
}

// Consent labels namespace shop as its owner does who lets it be disturbed.
func (s *Stage) Consent() {
	s.T.Helper()
	shop, err := s.Admin.CoreV1().Namespaces().Get(s.T.Context(), "shop", metav1.GetOptions{})
	if err == nil {
		shop.Labels[disturb.KeyLabel] = disturb.Allowed
		_, err = s.Admin.CoreV1().Namespaces().Update(s.T.Context(), shop, metav1.UpdateOptions{})
	}
	if err != nil {
		s.T.Fatal(err)
	}
}

// Command is holdfast as eve on a machine of its own: another home folder, and another path of the executable.
func (s *Stage) Command(args ...string) *exec.Cmd {
	s.T.Helper()
	home := s.T.TempDir()
	elsewhere := filepath.Join(home, "hf")
	if err := os.Link(s.Holdfast, elsewhere); err != nil {
		elsewhere = s.Holdfast // on another file system
	}
	cmd := exec.CommandContext(s.T.Context(), elsewhere, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	for _, pair := range os.Environ() { // for commands of hers that use the container engine
		if strings.HasPrefix(pair, "CONTAINERS_") || strings.HasPrefix(pair, "DOCKER_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	return cmd
}

// Run runs holdfast as eve.
func (s *Stage) Run(args ...string) (out string, code int) {
	s.T.Helper()
	return s.Finish(s.Command(args...))
}

// Finish runs a command to its end.
func (s *Stage) Finish(cmd *exec.Cmd) (out string, code int) {
	s.T.Helper()
	var text, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		s.T.Fatal(err)
	}
	s.T.Logf("holdfast %s: exit code %d\n%s%s", strings.Join(cmd.Args[1:], " "), cmd.ProcessState.ExitCode(), &text, &errs)
	return text.String() + errs.String(), cmd.ProcessState.ExitCode()
}

// As are the flags by which eve reaches the cluster.
func (s *Stage) As(args ...string) []string {
	return append(args, "--kubeconfig", s.Eve, "--context", "eve")
}

// File writes holdfast.yaml for the application, with one probe. Further fields are lines of YAML.
func (s *Stage) File(url string, further ...string) string {
	s.T.Helper()
	system, err := s.Admin.CoreV1().Namespaces().Get(s.T.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	name := filepath.Join(s.T.TempDir(), "holdfast.yaml")
	text := fmt.Sprintf("apiVersion: holdfast.dev/v1alpha1\nkind: App\ncluster: {uid: %s}\napp: {namespace: shop}\nprobes: [{name: home, url: %q}]\n", system.UID, url) +
		strings.Join(further, "\n") + "\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		s.T.Fatal(err)
	}
	return name
}
