package kwok

import (
	"context"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
)

// LabelKubelet is on each simulated node whose lease kwok keeps. A node without it is lost.
const LabelKubelet = "holdfast.dev/kubelet"

// kubeletOn is the value of LabelKubelet.
const kubeletOn = "kwok"

// Resources are what a simulated node has for pods.
func Resources() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: *resource.NewQuantity(clusters.PodsPerSimulatedNode, resource.DecimalSI),
	}
}

// nodeName is short, because each record of a pod contains it.
func nodeName(i int) string { return fmt.Sprintf("sim-%05d", i) }

// zoneOf is the zone of the i-th node, from 0.
func zoneOf(i int) string { return clusters.SimulatedZones()[i%len(clusters.SimulatedZones())] }

// object is the i-th node, as its kubelet would register it. PerWorker's labels are dealt to simulated nodes as to workers.
func object(i int, spec clusters.Spec) *corev1.Node {
	name, resources := nodeName(i), Resources()
	labels := map[string]string{
		clusters.LabelRole: string(clusters.Simulated), clusters.LabelZone: zoneOf(i), LabelKubelet: kubeletOn,
		corev1.LabelHostname: name, corev1.LabelOSStable: "linux",
	}
	maps.Copy(labels, spec.Dealt(i))
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{
			Key: clusters.LabelRole, Value: string(clusters.Simulated), Effect: corev1.TaintEffectNoSchedule,
		}}},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: spec.Kubernetes, ContainerRuntimeVersion: "kwok", OperatingSystem: "linux"},
		},
	}
}

// atOnce is how many requests are under way at the same time.
const atOnce = 16

// createNodes creates the nodes that do not exist yet.
func createNodes(ctx context.Context, client kubernetes.Interface, spec clusters.Spec) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range spec.SimulatedNodes {
		group.Go(func() error {
			_, err := client.CoreV1().Nodes().Create(ctx, object(i, spec), metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("create node %s: %w", nodeName(i), err)
			}
			return nil
		})
	}
	return group.Wait()
}
