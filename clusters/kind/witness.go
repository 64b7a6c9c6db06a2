package kind

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// The witness is a DaemonSet of idle pods. A probe enters their network namespace to check on every node what a pod can reach,
// without an additional image on the nodes. The DaemonSet stays in the cluster, because Start uses it to prove a restarted
// node.
const (
	systemNamespace = metav1.NamespaceSystem
	witnessName     = "holdfast-witness"
	witnessSelector = "k8s-app=" + witnessName
	dnsLabel        = "k8s-app" // kubeadm's label of CoreDNS; its value is the name of an earlier DNS server
	dnsName         = "kube-dns"
	dnsSelector     = dnsLabel + "=" + dnsName
	dnsDeployment   = "coredns"
	// labelControlPlane is the label that kubeadm puts on control-plane nodes.
	labelControlPlane = "node-role.kubernetes.io/control-plane"
)

// witness is a DaemonSet that runs image, which must be the pause image that every node has.
func witness(image string) *appsv1.DaemonSet {
	labels := map[string]string{"k8s-app": witnessName}
	none, no := int64(0), false
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: witnessName, Namespace: systemNamespace, Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					PriorityClassName:             "system-node-critical", // so that no workload under test preempts it
					TerminationGracePeriodSeconds: &none,
					AutomountServiceAccountToken:  &no,
					EnableServiceLinks:            &no,
					Containers: []corev1.Container{{
						Name: "pause", Image: image, ImagePullPolicy: corev1.PullNever,
						Command: []string{"/pause", witnessName}, // pause ignores the argument; the probe finds the process by it
					}},
				},
			},
		},
	}
}

// ensureWitness creates the DaemonSet if it does not exist.
func ensureWitness(ctx context.Context, client kubernetes.Interface, image string) error {
	_, err := client.AppsV1().DaemonSets(systemNamespace).Create(ctx, witness(image), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the witness pods: %w", err)
	}
	return nil
}

// firstWitness creates the DaemonSet while nodes join, so that their kubelets find it when they start. A proof would create it when they have
// joined.
func firstWitness(ctx context.Context, client kubernetes.Interface) error {
	p := proof{client: client}
	return poll.Until(ctx, "the first witness pod", defaultProveWithin, func(ctx context.Context) (bool, string, error) {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err == nil {
			err = p.ensureWitness(ctx, nodes.Items)
		}
		return p.witnessed, "no node that reports its images", err
	})
}

// pauseImage is the name of the pause image as reported by a node. It is empty if no node reports one.
func pauseImage(nodes []corev1.Node) string {
	for _, node := range nodes {
		for _, image := range node.Status.Images {
			for _, name := range image.Names {
				if repository, _, _ := strings.Cut(name, ":"); strings.HasSuffix(repository, "/pause") {
					return name
				}
			}
		}
	}
	return ""
}
