package restore

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
)

var threeZones = clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 2}

func TestIntact(t *testing.T) {
	cordon := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	for name, test := range map[string]struct {
		spoil func(*clustertest.Cluster)
		want  string
	}{
		"as it was": {func(*clustertest.Cluster) {}, ""},
		"a control plane's own taint": {func(h *clustertest.Cluster) {
			h.EditNode("cp", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane"}} })
		}, ""},
		"it takes a moment": {func(h *clustertest.Cluster) {
			h.EditNode("wa1", cordon)
			time.AfterFunc(50*time.Second, func() {
				h.EditNode("wa1", func(n *corev1.Node) { n.Spec.Unschedulable = false })
			})
		}, ""},
		"everything is wrong": {func(h *clustertest.Cluster) {
			h.EditNode("wa1", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })
			h.EditNode("wa2", func(n *corev1.Node) { n.Status.Conditions = nil })
			h.EditNode("wb1", cordon)
			h.EditNode("wb2", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/unreachable"}} })
			h.Machines[0].SetState(clusters.Exited)
			h.Machines[1].SetState(clusters.Paused)
		}, "waited 1m0s for cluster 0 to be as it was: last seen node wa1 has Ready=False, node wa2 has Ready=Unknown, " +
			"node wb1 is cordoned, node wb2 has taint node.kubernetes.io/unreachable, machine cp is exited, machine load is paused ("},
		"the cluster's own pods are there": {func(h *clustertest.Cluster) { h.Put(systemSets, kubeProxy(3, 3)); h.Put(systemDeployments, coreDNS(2)) }, ""},
		"the cluster's own pods are away": {
			func(h *clustertest.Cluster) { h.Put(systemSets, kubeProxy(3, 2)); h.Put(systemDeployments, coreDNS(0)) },
			"last seen DaemonSet kube-proxy has 2 of 3 pods available, Deployment coredns has 0 of 2 pods available (",
		},
		"no controller has read what the cluster's own pods should be": {func(h *clustertest.Cluster) {
			proxy, dns := kubeProxy(3, 3), coreDNS(2)
			proxy.Generation, dns.Generation = 2, 2
			h.Put(systemSets, proxy)
			h.Put(systemDeployments, dns)
		}, "last seen DaemonSet kube-proxy has 3 of 3 pods available, by status of generation 1 of 2"},
		"a node left the cluster": {
			func(h *clustertest.Cluster) { h.Forget("/api/v1/nodes/wc2") }, "last seen node wc2 is not there (",
		},
		"the engine is away": {
			func(h *clustertest.Cluster) { h.Machines[3].FailState(fmt.Errorf("no engine")) }, "last error: no engine)",
		},
		"the API server is away": {
			func(h *clustertest.Cluster) {
				h.Refuse = func(string, string) *apierrors.StatusError { return apierrors.NewServiceUnavailable("starting") }
			}, "last error: starting)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clustertest.New("0", threeZones)
				client, err := kubernetes.NewForConfig(fake.Config())
				if err != nil {
					t.Fatal(err)
				}
				test.spoil(fake)
				errtest.Check(t, AwaitIntact(t.Context(), client, fake), test.want)
			})
		})
	}
}

const (
	systemSets        = "/apis/apps/v1/namespaces/kube-system/daemonsets"
	systemDeployments = "/apis/apps/v1/namespaces/kube-system/deployments"
)

func kubeProxy(want, available int32) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-proxy", Namespace: metav1.NamespaceSystem, Generation: 1},
		Status:     appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: want, NumberAvailable: available},
	}
}

func coreDNS(available int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "coredns", Namespace: metav1.NamespaceSystem, Generation: 1},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 1, AvailableReplicas: available},
	}
}
