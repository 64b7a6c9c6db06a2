package kind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/clusters"
)

// scene is a client for the API server of fakeCluster, where everything is healthy except for changes.
func scene(changes ...func(object runtime.Object)) *fake.Clientset {
	var objects []runtime.Object
	for i, m := range members("x", testSpec) {
		node := nodeFor(m, func(n *corev1.Node) {
			n.Status.Images = []corev1.ContainerImage{{Names: []string{"registry.k8s.io/pause:3.10"}}}
		})
		pod := podOn(m.name, "witness-"+m.name, fmt.Sprintf("10.244.%d.9", i), nil)
		pod.Labels = map[string]string{"k8s-app": witnessName}
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.name, Namespace: leaseNamespace}}
		objects = append(objects, &node, &pod, lease)
	}
	dns := podOn("holdfast-x-control-plane", "coredns-1", "10.244.0.2", nil)
	dns.Labels = map[string]string{"k8s-app": "kube-dns"}
	objects = append(objects, &dns, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: dnsDeployment, Namespace: systemNamespace}})
	for _, change := range changes {
		for _, object := range objects {
			change(object)
		}
	}
	return fake.NewClientset(objects...)
}

// reaches answers a probe like a node that reaches everything.
func reaches(string, []string) ([]byte, error) { return []byte("witness 10.244.1.9\nend\n"), nil }

func proofOf(c *Cluster, client kubernetes.Interface) *proof {
	return &proof{e: c.e, client: client, planned: members("x", testSpec), sealed: true}
}

func TestProof(t *testing.T) {
	for _, tt := range []struct {
		name   string
		client *fake.Clientset
		exec   func(string, []string) ([]byte, error)
		want   []string
	}{
		{"all is well", scene(), reaches, nil},
		{"a node is not ready", scene(func(o runtime.Object) {
			if node, ok := o.(*corev1.Node); ok && node.Name == "holdfast-x-worker" {
				setReady(corev1.ConditionFalse, "cni config uninitialized")(node)
			}
		}), nil, []string{"node holdfast-x-worker: Ready=False (cni config uninitialized)"}},
		{"DNS starts", scene(func(o runtime.Object) {
			if pod, ok := o.(*corev1.Pod); ok && pod.Name == "coredns-1" {
				unready(pod)
			}
		}), nil, []string{"DNS: coredns-1 is not ready (Pending)"}},
		{"a Service is not reachable", scene(), func(node string, _ []string) ([]byte, error) {
			if node == "holdfast-x-worker2" {
				return []byte("Service 10.96.0.1:443 not reachable from the pods\nwitness 10.244.2.9\nend\n"), nil
			}
			return reaches("", nil)
		}, []string{"node holdfast-x-worker2: Service 10.96.0.1:443 not reachable from the pods"}},
		{"a node does not answer", scene(), func(node string, _ []string) ([]byte, error) {
			if node == "holdfast-x-worker" {
				return nil, errors.New("container state improper")
			}
			return reaches("", nil)
		}, []string{"probe the network of holdfast-x-worker: container state improper"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newFakeEngine("podman")
			c := fakeCluster(t, e)
			e.Exec = tt.exec
			if diff := cmp.Diff(tt.want, proofOf(c, tt.client).look(t.Context())); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProofMakesWitnessesOnce(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	e.Exec = reaches
	client := scene()
	p := proofOf(c, client)
	for range 2 {
		p.look(t.Context())
	}
	made, err := client.AppsV1().DaemonSets(systemNamespace).Get(t.Context(), witnessName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	container := made.Spec.Template.Spec.Containers[0]
	if container.Image != "registry.k8s.io/pause:3.10" || container.ImagePullPolicy != corev1.PullNever {
		t.Errorf("the witness runs %s (%s)", container.Image, container.ImagePullPolicy)
	}
	if err := ensureWitness(t.Context(), client, "other"); err != nil {
		t.Errorf("where it is already: %v", err)
	}
}

func TestProofMovesDNS(t *testing.T) {
	e := newFakeEngine("podman")
	c := fakeCluster(t, e)
	client := scene(func(o runtime.Object) {
		if pod, ok := o.(*corev1.Pod); ok && pod.Name == "coredns-1" {
			pod.Spec.NodeName = "holdfast-x-worker"
		}
	})
	want := []string{"DNS: coredns-1 is on holdfast-x-worker, not on a control plane"}
	if diff := cmp.Diff(want, proofOf(c, client).look(t.Context())); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	dns, err := client.AppsV1().Deployments(systemNamespace).Get(t.Context(), dnsDeployment, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	selector := map[string]string{"node-role.kubernetes.io/control-plane": ""}
	if diff := cmp.Diff(selector, dns.Spec.Template.Spec.NodeSelector); diff != "" {
		t.Errorf("node selector (-want +got):\n%s", diff)
	}
}

// A started node is back only when its kubelet has reported since the start. Here its lease and status are updated late.
func TestStartWaitsForAFreshWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine("podman")
		c := fakeCluster(t, e)
		client := scene()
		c.client, e.Exec = client, reaches
		worker := nodeOf(t, c, clusters.Worker)
		e.Containers[worker.name].State = "exited"
		const boot = 7 * time.Second
		time.AfterFunc(boot, func() { speak(t, client, worker.name) })
		begin := time.Now()
		if err := worker.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < boot {
			t.Errorf("back after %s, before its kubelet has spoken", took)
		}
		back := e.Called("exec --privileged holdfast-x-worker2 ")
		if len(back) != 1 || !strings.HasSuffix(back[0], " 10.244.1.9") {
			t.Errorf("the load node was asked for the node's pod %d times", len(back))
		}
	})
}

// A control plane that was too busy to answer is considered lost for a moment, and CoreDNS moves to a worker. Start would wait
// forever for a node to be back if it did not move CoreDNS back.
func TestStartBringsDNSHome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine("podman")
		c := fakeCluster(t, e)
		client := scene(func(o runtime.Object) {
			if pod, ok := o.(*corev1.Pod); ok && pod.Name == "coredns-1" {
				pod.Spec.NodeName = "holdfast-x-worker2"
			}
		})
		client.PrependReactor("patch", "deployments", func(k8stesting.Action) (bool, runtime.Object, error) {
			pods := corev1.SchemeGroupVersion.WithResource("pods")
			home := podOn("holdfast-x-control-plane", "coredns-1", "10.244.0.2", nil)
			home.Labels = map[string]string{"k8s-app": "kube-dns"}
			return false, nil, client.Tracker().Update(pods, &home, systemNamespace)
		})
		c.client, e.Exec = client, reaches
		worker := nodeOf(t, c, clusters.Worker)
		e.Containers[worker.name].State = "exited"
		time.AfterFunc(time.Second, func() { speak(t, client, worker.name) })
		if err := worker.Start(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// speak simulates a kubelet that has started.
func speak(t *testing.T, client kubernetes.Interface, name string) {
	ctx := context.WithoutCancel(t.Context())
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	node.Status.Conditions[1].LastHeartbeatTime = metav1.Now()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: leaseNamespace}}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	_, err = client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	_, leaseErr := client.CoordinationV1().Leases(leaseNamespace).Update(ctx, lease, metav1.UpdateOptions{})
	if err := errors.Join(err, leaseErr); err != nil {
		t.Error(err)
	}
}
