package nodenet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func object(name, ip, cidr string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: []string{cidr}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: ip},
		}},
	}
}

// server is an API server with one node, which answers a watch with the given changes and then ends it.
func server(changes ...watch.Event) *fake.Clientset {
	simulated := object("sim-00000", "", "10.244.7.0/24")
	simulated.Labels = map[string]string{"holdfast.dev/role": "simulated"}
	client := fake.NewClientset(object("b", "10.89.0.3", "10.244.1.0/24"), simulated)
	client.PrependWatchReactor("nodes", func(clienttesting.Action) (bool, watch.Interface, error) {
		sent := make(chan watch.Event, len(changes))
		for _, change := range changes {
			sent <- change
		}
		close(sent)
		return true, watch.NewProxyWatcher(sent), nil
	})
	return client
}

func TestFollow(t *testing.T) {
	a, b := two[0], two[1]
	moved := node{Name: "b", IP: "10.89.0.9", PodCIDR: "10.244.1.0/24"}
	for name, test := range map[string]struct {
		changes []watch.Event
		heard   [][]node
		err     string
	}{
		"a node of each kind": {
			changes: []watch.Event{
				{Type: watch.Added, Object: object("a", "10.89.0.2", "10.244.0.0/24")},
				{Type: watch.Modified, Object: object("b", "10.89.0.9", "10.244.1.0/24")},
				{Type: watch.Deleted, Object: object("b", "10.89.0.9", "10.244.1.0/24")},
			},
			heard: [][]node{{b}, {a, b}, {a, moved}, {a}},
		},
		"an error of the server": {
			changes: []watch.Event{{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Message: "too old", Code: 410}}},
			heard:   [][]node{{b}},
			err:     "watch the nodes: too old",
		},
	} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan []node, 10)
			err := follow(t.Context(), server(test.changes...), heard)
			if got := fmt.Sprint(err); err != nil && got != test.err || (err == nil) != (test.err == "") {
				t.Errorf("%v, want %q", err, test.err)
			}
			close(heard)
			var got [][]node
			for nodes := range heard {
				got = append(got, nodes)
			}
			if diff := cmp.Diff(test.heard, got); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
		})
	}
}

// Only a control plane has the file of the administrator. It lets the nodes list each other before it lists them.
func TestOnceGrants(t *testing.T) {
	at := testPaths(t)
	write(t, at.kubelet, "kubelet")
	client, connected := server(), ""
	f := follower{paths: at, connect: func(kubeconfig []byte) (kubernetes.Interface, error) {
		connected += string(kubeconfig) + " "
		return client, nil
	}}
	calls := func() (all []string) {
		if err := f.once(t.Context(), make(chan []node, 1)); err != nil {
			t.Fatal(err)
		}
		for _, action := range client.Actions() {
			all = append(all, action.GetVerb()+" "+action.GetResource().Resource)
		}
		client.ClearActions()
		return all
	}
	follows := []string{"list nodes", "watch nodes"}
	grants := append([]string{"create clusterroles", "create clusterrolebindings"}, follows...)
	if diff := cmp.Diff(follows, calls()); diff != "" {
		t.Errorf("a worker (-want +got):\n%s", diff)
	}
	write(t, at.admin, "admin")
	if diff := cmp.Diff(grants, calls()); diff != "" {
		t.Errorf("a control plane (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(follows, calls()); diff != "" {
		t.Errorf("a control plane that has granted (-want +got):\n%s", diff)
	}
	write(t, at.kubelet, "other kubelet")
	calls()
	if want := "kubelet admin other kubelet "; connected != want {
		t.Errorf("connected with %q, want %q", connected, want)
	}
}

func TestGrant(t *testing.T) {
	client := fake.NewClientset()
	for range 2 { // the second time both objects exist
		if err := grant(t.Context(), client); err != nil {
			t.Error(err)
		}
	}
	client.PrependReactor("create", "clusterroles", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	if err := grant(t.Context(), client); err == nil || err.Error() != "let nodes list nodes: forbidden" {
		t.Errorf("%v, want that it is forbidden", err)
	}
}

// kubeadm writes this form of a kubeconfig.
func TestConnect(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes" || !strings.Contains(r.Header.Get("Accept"), "protobuf") {
			t.Errorf("%s accepts %s", r.URL, r.Header.Get("Accept"))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`)
	}))
	defer api.Close()
	const text = "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    server: %s\n  name: kind\n" +
		"contexts:\n- context:\n    cluster: kind\n    user: x\n  name: x@kind\ncurrent-context: x@kind\nusers:\n- name: x\n  user: {}\n"
	client, err := connect(fmt.Appendf(nil, text, api.URL))
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "a" {
		t.Errorf("%v, %v; want node a", list, err)
	}
	if _, err := connect([]byte("clusters: {")); err == nil {
		t.Error("half a kubeconfig was accepted")
	}
}
