//go:build e2e

// Package plaintest is what the tests of clusters that holdfast did not make have in common: such a cluster with an application, and
// a user with few rights, who runs holdfast's commands.
package plaintest

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// Stage is a cluster that holdfast did not make, and a user eve, who may do nothing yet.
type Stage struct {
	*kind.Cluster
	T                        *testing.T
	Engine                   *engine.Engine
	Admin                    kubernetes.Interface
	Holdfast, Kubectl, Image string // Kubectl is the administrator's command line
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
	spec := clusters.PlainSpec(cmp.Or(kubernetesVersion, os.Getenv("HOLDFAST_KUBERNETES")))
	made, err := kind.New(e, kind.Options{Command: "go test"}).Create(ctx, name, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Delete(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	s := &Stage{Cluster: made.(*kind.Cluster), T: t, Engine: e, Admin: kubernetes.NewForConfigOrDie(made.Config())}
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
	admin, err := s.Kubeconfig()
	kubectl := filepath.Join(t.TempDir(), "kubectl")
	_, copied := e.Output(ctx, "cp", s.ControlPlane()+":/usr/bin/kubectl", kubectl)
	if err := errors.Join(err, copied, s.LoadImage(ctx, clusters.Image{Ref: s.Image, Path: archive})); err != nil {
		t.Fatal(err)
	}
	s.Kubectl = kubectl + " --kubeconfig " + admin
	s.addEve(admin)
	return s
}

// ControlPlane is the name of the control plane's container, and of its node.
func (s *Stage) ControlPlane() string { return s.Nodes()[0].Name() }

// addEve makes a user who may do nothing but what any user may, with a certificate of the cluster's authority.
//
// Source: https://kubernetes.io/docs/reference/setup-tools/kubeadm/kubeadm-kubeconfig/
func (s *Stage) addEve(admin string) {
	s.T.Helper()
	text, err := s.Nodes()[0].Exec(s.T.Context(), "kubeadm", "kubeconfig", "user", "--client-name", "eve", "--config", "/kind/kubeadm.conf")
	if err != nil {
		s.T.Fatal(err)
	}
	made, err := clientcmd.Load(text)
	if err != nil {
		s.T.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(admin)
	if err != nil {
		s.T.Fatal(err)
	}
	cluster := config.Contexts[config.CurrentContext].Cluster
	user := made.Contexts[made.CurrentContext].AuthInfo
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{"eve": made.AuthInfos[user]}
	config.Contexts, config.CurrentContext = map[string]*clientcmdapi.Context{"eve": {Cluster: cluster, AuthInfo: "eve"}}, "eve"
	s.Eve = filepath.Join(s.T.TempDir(), "eve.kubeconfig")
	if err := clientcmd.WriteToFile(*config, s.Eve); err != nil {
		s.T.Fatal(err)
	}
}

// Applications of another owner, in namespace shop: a Deployment web with holdfast's image, and a Service web with a port on each node. Careful has
// what the audit asks for. Careless has one replica, which a rollout ends before it starts the next one, and no budget.
var (
	//go:embed shop-careful.yaml
	Careful string
	//go:embed shop-careless.yaml
	Careless string
)

// nodePort is the port of Service web on each node.
const nodePort = "30080"

// kubectl runs kubectl as the administrator, with manifests as its input.
func (s *Stage) kubectl(manifests string, args ...string) {
	s.T.Helper()
	args = append(strings.Fields(s.Kubectl), args...)
	cmd := exec.CommandContext(s.T.Context(), args[0], args[1:]...)
	cmd.Stdin = strings.NewReader(strings.NewReplacer("IMAGE", s.Image, "NODEPORT", nodePort).Replace(manifests))
	if out, err := cmd.CombinedOutput(); err != nil {
		s.T.Fatalf("%v\n%s", err, out)
	}
}

// Deploy creates an application in namespace shop as people do who type commands: what the field manager "kubectl-create" owns, may be scaled.
// It returns when Deployment web is as its controller wants it and its Service answers, with a URL of its Service on a node that nothing takes away.
func (s *Stage) Deploy(manifests string) (url string) {
	s.T.Helper()
	s.kubectl(manifests, "create", "-f", "-")
	s.Settled("before anything")
	node, err := s.Admin.CoreV1().Nodes().Get(s.T.Context(), s.ControlPlane(), metav1.GetOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	url = fmt.Sprintf("http://%s:%s/", node.Status.Addresses[0].Address, nodePort)
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
	s.kubectl(mayRead, "apply", "-f", "-")
}

const mayRead = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: read, namespace: shop}
rules:
- {apiGroups: [""], resources: [pods, events, services], verbs: [get, list, watch]}
- {apiGroups: [apps], resources: [deployments, statefulsets], verbs: [get, list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list, watch]}
- {apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: read, namespace: shop}
subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: read}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: read}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [namespaces], resourceNames: [kube-system], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: read}
subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: read}
`

// Grant gives eve what `holdfast rbac` prints for some faults in namespace shop.
func (s *Stage) Grant(faults ...string) {
	s.T.Helper()
	roles, code := s.Run("rbac", "-n", "shop", "--faults", strings.Join(faults, ","), "--user", "eve")
	if code != 0 {
		s.T.Fatalf("rbac: exit code %d", code)
	}
	s.kubectl(roles, "apply", "--server-side", "-f", "-")
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
