package kind

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

var newRelease = clusters.Release{Kubernetes: "v1.37.0", Image: "node:v1.37.0", Images: map[string]string{
	"example.test/kube-apiserver:v1.37.0": "sha256:1", "example.test/kube-controller-manager:v1.37.0": "sha256:2",
	"example.test/kube-scheduler:v1.37.0": "sha256:3", "example.test/etcd:3.7.0-0": "sha256:4",
	"example.test/coredns:v1.14.6": "sha256:5", "example.test/kube-proxy:v1.37.0": "sha256:6",
}}

// old is a cluster one version older than newRelease.
func old(t *testing.T, e *fakeEngine) *Cluster {
	t.Helper()
	c := fakeCluster(t, e)
	c.record.Spec.Kubernetes = "v1.36.3"
	return c
}

// Workers get only the images that they run, and a second Fetch copies nothing.
func TestFetch(t *testing.T) {
	e := newFakeEngine("podman")
	c := old(t, e)
	file := archive(t)
	var mu sync.Mutex
	held := map[string]bool{}
	e.Exec = func(node string, command []string) ([]byte, error) { // the second query for an image follows its import
		mu.Lock()
		defer mu.Unlock()
		ref := strings.TrimPrefix(command[len(command)-1], "name==")
		key := node + ref
		if held[key] {
			return []byte(ref + "\n"), nil
		}
		held[key] = true
		return nil, nil
	}
	asked := 0
	c.release = func(_ context.Context, version string) (nodeimage.Release, error) {
		asked++
		r := nodeimage.Release{Ref: nodeimage.Ref{Kubernetes: version, Image: "node:" + version, Digest: "sha256:d"}, Kubeadm: file, Kubelet: file, Kubectl: file}
		for ref, digest := range newRelease.Images {
			r.Images = append(r.Images, nodeimage.ReleaseImage{Ref: ref, Digest: digest, Path: file})
		}
		return r, nil
	}
	for range 2 {
		got, err := c.Fetch(t.Context(), "v1.37.0")
		if err != nil {
			t.Fatal(err)
		}
		want := newRelease
		want.Digest = "sha256:d"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if asked != 1 {
		t.Errorf("the release was fetched %d times", asked)
	}
	for node, want := range map[string]int{"control-plane": 6, "worker": 1, "worker2": 1} {
		if got := len(e.Called("--interactive holdfast-x-" + node + " ctr")); got != want {
			t.Errorf("%s was sent %d images, want %d", node, got, want)
		}
		if got := len(e.Called("--interactive holdfast-x-" + node + " bash")); got != 3 {
			t.Errorf("%s was sent %d programs, want kubeadm, kubelet and kubectl", node, got)
		}
	}
	if _, err := c.Fetch(t.Context(), "v1.38.0"); err == nil || !strings.Contains(err.Error(), "skips v1.37") {
		t.Errorf("two minor versions: %v", err)
	}
}

// upgradedPods are the pods of a control plane and of the add-ons, all ready and of the new release.
func upgradedPods(c *Cluster) (pods []*corev1.Pod) {
	pod := func(name, node, image string, labels map[string]string) {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: systemNamespace, Labels: labels},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Image: image}}},
			Status: corev1.PodStatus{PodIP: "10.0.0.1", Phase: corev1.PodRunning,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	at := c.nodes[0].name
	for _, name := range controlPlanePods {
		image := "example.test/" + name + ":v1.37.0"
		if name == "etcd" {
			image = "example.test/etcd:3.7.0-0"
		}
		pod(name+"-"+at, at, image, nil)
	}
	pod("coredns-1", at, "example.test/coredns:v1.14.6", map[string]string{"k8s-app": "kube-dns"})
	for _, n := range c.nodes {
		pod("kube-proxy-"+n.name, n.name, "example.test/kube-proxy:v1.37.0", map[string]string{"k8s-app": "kube-proxy"})
	}
	return pods
}

func TestUpgradeNode(t *testing.T) {
	for name, tt := range map[string]struct {
		role    clusters.Role
		kubeadm error
		change  func([]*corev1.Pod)
		want    string // part of the error; empty: no error
		call    string
	}{
		"control plane": {role: clusters.ControlPlane, call: "kubeadm upgrade apply --yes v1.37.0 "},
		"worker":        {role: clusters.Worker, call: "kubeadm upgrade node "},
		"load node":     {role: clusters.LoadNode, call: "kubeadm upgrade node "},
		"kubeadm fails": {role: clusters.Worker, kubeadm: errors.New("exit status 1"),
			want: "kubeadm upgrade node on holdfast-x-worker: run a command on holdfast-x-worker: exit status 1: could not fetch the config", call: "kubeadm"},
		"etcd is the old one": {role: clusters.ControlPlane, change: func(pods []*corev1.Pod) { pods[3].Spec.Containers[0].Image = "example.test/etcd:3.6.8-0" },
			want: "etcd-holdfast-x-control-plane runs example.test/etcd:3.6.8-0", call: "kubeadm"},
		"the API server is not ready": {role: clusters.ControlPlane, change: func(pods []*corev1.Pod) { pods[0].Status.Conditions = nil },
			want: "kube-apiserver-holdfast-x-control-plane is not ready", call: "kubeadm"},
		"a kube-proxy is the old one": {role: clusters.ControlPlane, change: func(pods []*corev1.Pod) { pods[6].Spec.Containers[0].Image = "example.test/kube-proxy:v1.36.3" },
			want: "2 of 3 pods with k8s-app=kube-proxy are ready at v1.37.0", call: "kubeadm"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newFakeEngine("podman")
				c := old(t, e)
				pods := upgradedPods(c)
				if tt.change != nil {
					tt.change(pods)
				}
				for _, p := range pods {
					if err := c.client.(*fake.Clientset).Tracker().Add(p); err != nil {
						t.Fatal(err)
					}
				}
				var scripts []string
				e.Exec = func(_ string, command []string) ([]byte, error) {
					scripts = append(scripts, strings.Join(command, " "))
					return []byte("[upgrade] begins\ncould not fetch the config\n"), tt.kubeadm
				}
				err := c.UpgradeNode(t.Context(), nodeOf(t, c, tt.role), newRelease)
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(strings.ReplaceAll(err.Error(), "[upgrade] begins | ", ""), tt.want) {
					t.Errorf("got  %v\nwant %s", err, tt.want)
				}
				if !slices.ContainsFunc(scripts, func(s string) bool { return strings.Contains(s, tt.call) }) {
					t.Errorf("ran %q, want %s", scripts, tt.call)
				}
			})
		})
	}
}
