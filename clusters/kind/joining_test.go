package kind

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"
)

// begun is the API server of a control plane that waits for nodes. Its cluster-info is signed after a while.
func begun(t *testing.T, signedAfter time.Duration) *fake.Clientset {
	info := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: "cluster-info"}, Data: map[string]string{"kubeconfig": "k"}}
	client := fake.NewClientset(info)
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

func demo(e *fakeEngine) bootstrap {
	return bootstrap{
		Engine: e, Log: slog.New(slog.DiscardHandler), Name: "holdfast-x", First: "x-control-plane", Others: []string{"x-worker", "x-worker2"},
		Beside: func(context.Context, kubernetes.Interface) error { return nil },
	}
}

func TestNodesJoinAsSoonAsTheyCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine("podman")
		begin := time.Now()
		joined := map[string]time.Duration{}
		e.Exec = func(node string, command []string) ([]byte, error) {
			if slices.Contains(command, "join") {
				joined[node] = time.Since(begin)
			}
			return nil, nil
		}
		c, beside := demo(e), time.Duration(-1)
		c.Beside = func(context.Context, kubernetes.Interface) error {
			beside = time.Since(begin)
			return nil
		}
		if err := c.join(t.Context(), begun(t, 3*time.Second)); err != nil {
			t.Fatal(err)
		}
		if len(joined) != len(c.Others) {
			t.Errorf("joined: %v", joined)
		}
		for node, at := range joined {
			if at < 3*time.Second || at > 4*time.Second {
				t.Errorf("%s joined after %s: too early, kubeadm looks again only after 5 s; too late, and it was not noticed", node, at)
			}
		}
		if beside != 0 {
			t.Errorf("what happens beside began after %s", beside)
		}
		if stored := e.Called("exec --privileged x-control-plane "); len(stored) != 1 || !strings.Contains(stored[0], "default-storage.yaml") {
			t.Errorf("on the control plane: %q", stored)
		}
	})
}

func TestJoinThatFails(t *testing.T) {
	refused := errors.New("exit status 1: error execution phase preflight|unable to fetch the kubeadm-config ConfigMap")
	for _, tt := range []struct {
		name   string
		signed time.Duration
		at     string // a node that cannot join
		beside error
		want   string
	}{
		{name: "a node cannot join", at: "x-worker2", want: "join x-worker2: " + refused.Error()},
		{name: "no storage class", at: "x-control-plane", want: refused.Error()},
		{name: "no signature", signed: time.Hour, want: "waited 2m0s for the signature of cluster-info: last seen no signature"},
		{name: "beside", beside: errors.New("no images"), signed: time.Hour, want: "no images"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newFakeEngine("podman")
				e.Exec = func(node string, _ []string) ([]byte, error) {
					if node == tt.at {
						return nil, refused
					}
					return nil, nil
				}
				c := demo(e)
				c.Beside = func(context.Context, kubernetes.Interface) error { return tt.beside }
				err := c.join(t.Context(), begun(t, tt.signed))
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
					t.Errorf("got  %v\nwant %s", err, tt.want)
				}
			})
		})
	}
}

const adminConf = `apiVersion: v1
kind: Config
current-context: kubernetes-admin@holdfast-x
clusters: [{name: holdfast-x, cluster: {server: "https://holdfast-x-control-plane:6443", certificate-authority-data: Y2E=}}]
users: [{name: kubernetes-admin, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}}]
contexts: [{name: kubernetes-admin@holdfast-x, context: {cluster: holdfast-x, user: kubernetes-admin}}]
`

// ported is an engine that publishes ports, which a fakeEngine does not.
type ported struct {
	*fakeEngine
	err error
}

func (p ported) Output(ctx context.Context, args ...string) ([]byte, error) {
	if args[0] == "port" {
		return []byte("127.0.0.1:40213\n"), p.err
	}
	return p.fakeEngine.Output(ctx, args...)
}

// The kubeconfig is there as soon as the control plane is, for whoever needs it while nodes join.
func TestInitWritesTheKubeconfig(t *testing.T) {
	e := ported{fakeEngine: newFakeEngine("podman")}
	e.Exec = func(string, []string) ([]byte, error) {
		return []byte(strings.NewReplacer("certificate-authority-data: Y2E=", "insecure-skip-tls-verify: true",
			"client-certificate-data: Y2VydA==, client-key-data: a2V5", "token: t").Replace(adminConf)), nil
	}
	c := demo(e.fakeEngine)
	c.Engine = e
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if _, err := c.init(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil || config.Clusters["kind-holdfast-x"].Server != "https://127.0.0.1:40213" {
		t.Errorf("got %+v, %v", config, err)
	}
}
