package kind

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine/enginetest"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
)

// kind starts Kubernetes where it does more than starting it.
func TestWhoStartsKubernetes(t *testing.T) {
	for _, tt := range []struct {
		ownNetwork    bool
		controlPlanes int
		want          bool
	}{{true, 1, true}, {false, 1, false}, {true, 3, false}} {
		spec := clusters.Spec{Zones: []string{"a"}, ControlPlanes: tt.controlPlanes}.WithDefaults()
		b := builder{record: inventory.Record{Spec: spec}, config: configure("x", spec, ground{ownNetwork: tt.ownNetwork})}
		if got := b.startsItself(); got != tt.want {
			t.Errorf("own network %t, %d control planes: %t", tt.ownNetwork, tt.controlPlanes, got)
		}
	}
}

// begun is the API server of a control plane that waits for nodes. Its cluster-info is signed after a while.
func begun(t *testing.T, signedAfter time.Duration) *fake.Clientset {
	control := nodeFor(members("x", testSpec)[0], func(n *corev1.Node) {
		n.Status.Images = []corev1.ContainerImage{{Names: []string{"registry.k8s.io/pause:3.10"}}}
	})
	info := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: "cluster-info"}, Data: map[string]string{"kubeconfig": "k"}}
	client := fake.NewClientset(&control, info)
	go func() {
		select {
		case <-t.Context().Done():
		case <-time.After(signedAfter):
			signed := info.DeepCopy()
			signed.Data["jws-kubeconfig-abcdef"] = "s"
			if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), signed, metav1.NamespacePublic); err != nil {
				t.Error(err)
			}
		}
	}()
	return client
}

func TestNodesJoinAsSoonAsTheyCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New("podman")
		fakeCluster(t, e)
		begin := time.Now()
		joined := map[string]time.Duration{}
		e.Exec = func(node string, command []string) ([]byte, error) {
			if slices.Contains(command, "join") {
				joined[node] = time.Since(begin)
			}
			return nil, nil
		}
		planned, client := members("x", testSpec), begun(t, 3*time.Second)
		b := builder{e: e, log: slog.Default(), name: "x", config: &v1alpha4.Cluster{}}
		if err := b.join(t.Context(), client, planned[0].name, planned[1:]); err != nil {
			t.Fatal(err)
		}
		if len(joined) != len(planned)-1 {
			t.Errorf("joined: %v", joined)
		}
		for node, at := range joined {
			if at < 3*time.Second || at > 4*time.Second {
				t.Errorf("%s joined after %s: too early, kubeadm looks again only after 5 s; too late, and it was not noticed", node, at)
			}
		}
		if _, err := client.AppsV1().DaemonSets(systemNamespace).Get(t.Context(), witnessName, metav1.GetOptions{}); err != nil {
			t.Errorf("the witness: %v", err)
		}
		if stored := e.Called("exec --privileged " + planned[0].name + " "); len(stored) != 1 || !strings.Contains(stored[0], "default-storage.yaml") {
			t.Errorf("on the control plane: %q", stored)
		}
	})
}

func TestJoinThatFails(t *testing.T) {
	refused := errors.New("exit status 1: error execution phase preflight|unable to fetch the kubeadm-config ConfigMap")
	for _, tt := range []struct {
		name   string
		signed time.Duration
		exec   func(node string, command []string) ([]byte, error)
		change func(client *fake.Clientset)
		want   string
	}{
		{name: "a node cannot join", want: "join holdfast-x-worker2: " + refused.Error(), exec: func(node string, command []string) ([]byte, error) {
			if node == "holdfast-x-worker2" {
				return nil, refused
			}
			return nil, nil
		}},
		{name: "no signature", signed: time.Hour, want: "waited 2m0s for the signature of cluster-info: last seen no signature"},
		{name: "no images", want: "waited 2m0s for the first witness pod: last seen no node that reports its images", change: func(client *fake.Clientset) {
			if err := client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", members("x", testSpec)[0].name); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := enginetest.New("podman")
				fakeCluster(t, e)
				e.Exec = tt.exec
				if tt.exec == nil {
					e.Exec = func(string, []string) ([]byte, error) { return nil, nil }
				}
				client := begun(t, tt.signed)
				if tt.change != nil {
					tt.change(client)
				}
				planned := members("x", testSpec)
				b := builder{e: e, log: slog.Default(), name: "x", config: &v1alpha4.Cluster{}}
				err := b.join(t.Context(), client, planned[0].name, planned[1:])
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
					t.Errorf("got  %v\nwant %s", err, tt.want)
				}
			})
		})
	}
}

// What kubeadm printed on the way does not hide why it failed.
func TestQuietScript(t *testing.T) {
	const kubeadm = `echo started; echo 'error: phase preflight' >&2; echo ' no route' >&2; echo 'To see the stack trace of this error execute with --v=5 or higher' >&2; exit 3`
	run := func(script string) (string, error) {
		said, err := exec.CommandContext(t.Context(), "sh", "-c", quietScript, "quietly", "sh", "-c", script).CombinedOutput()
		return string(said), err
	}
	var exit *exec.ExitError
	if said, err := run(kubeadm); said != "started|error: phase preflight| no route\n" || !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("said %q, %v", said, err)
	}
	if said, err := run("echo fine; echo all >&2"); said != "" || err != nil {
		t.Errorf("said %q, %v", said, err)
	}
}

const adminConf = `apiVersion: v1
kind: Config
current-context: kubernetes-admin@holdfast-x
clusters: [{name: holdfast-x, cluster: {server: "https://holdfast-x-control-plane:6443", certificate-authority-data: Y2E=}}]
users: [{name: kubernetes-admin, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}}]
contexts: [{name: kubernetes-admin@holdfast-x, context: {cluster: holdfast-x, user: kubernetes-admin}}]
`

func TestKubeconfigForThisMachine(t *testing.T) {
	config, err := fromOutside(adminConf, "127.0.0.1:40213\n[::1]:40213\n", "kind-holdfast-x")
	if err != nil {
		t.Fatal(err)
	}
	context := config.Contexts[config.CurrentContext]
	cluster, user := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
	if config.CurrentContext != "kind-holdfast-x" || cluster.Server != "https://127.0.0.1:40213" || string(cluster.CertificateAuthorityData) != "ca" ||
		string(user.ClientCertificateData) != "cert" || string(user.ClientKeyData) != "key" {
		t.Errorf("got %+v %+v %+v", config, cluster, user)
	}
	for _, tt := range []struct{ admin, ports, want string }{
		{"nonsense: [", "127.0.0.1:1\n", "read the kubeconfig of the control plane: "},
		{"", "127.0.0.1:1\n", "read the kubeconfig of the control plane: it names no cluster or no user"},
		{adminConf, "\n", "the engine has not published the port of the API server"},
	} {
		if _, err := fromOutside(tt.admin, tt.ports, "k"); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}

// init ends at the first thing that fails, and says what it was.
func TestInitThatFails(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	for _, at := range []string{"kubeadm init", "cat /etc/kubernetes/admin.conf", "port"} {
		e := enginetest.New("podman")
		fakeCluster(t, e)
		e.Exec = func(_ string, command []string) ([]byte, error) {
			if strings.Contains(strings.Join(command, " "), at) {
				return nil, errors.New("broken: " + at)
			}
			return []byte(adminConf), nil
		}
		e.Fail = func(args []string) error {
			if args[0] == "port" {
				return errors.New("broken: port")
			}
			return nil
		}
		b := builder{e: e, log: slog.Default(), name: "x", record: inventory.Record{Spec: testSpec}, config: &v1alpha4.Cluster{}}
		err := b.bootstrap(context.WithoutCancel(t.Context()), t.TempDir()+"/kubeconfig")
		if want := "start the control plane on holdfast-x-control-plane: broken: " + at; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
