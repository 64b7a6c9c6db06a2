package clustertest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Register has each node created by its kubelet, so that it has managed fields, as on a real cluster. For a cluster with Owners.
func (c *Cluster) Register(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	for _, m := range c.Machines {
		at := "/api/v1/nodes/" + m.Name()
		n := c.Get(at).(*corev1.Node).DeepCopy()
		c.Forget(at)
		n.ResourceVersion, n.UID = "", ""
		if _, err := client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{FieldManager: "kubelet"}); err != nil {
			return err
		}
	}
	return nil
}
