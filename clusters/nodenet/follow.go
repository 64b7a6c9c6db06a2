package nodenet

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// answerWithin is the time limit of every request except a watch.
	answerWithin = 10 * time.Second
	// watchFor is how long a watch lasts. Each watch begins with a new list.
	watchFor = 5 * time.Minute
	// retryIn is why this is no informer: an informer waits up to 30 s after an error, and until the nodes are listed for the
	// first time a new node is not Ready.
	retryIn = 500 * time.Millisecond
)

// machines selects the nodes that have pods with a network, and not simulated ones, of which there may be thousands.
const machines = "holdfast.dev/role!=simulated"

// follower follows the nodes of the cluster with the kubelet's credentials.
type follower struct {
	paths   paths
	connect func(kubeconfig []byte) (kubernetes.Interface, error)

	client  kubernetes.Interface
	with    []byte // the kubeconfig of client
	granted bool
}

// connect makes a client. client-go itself notices when the files that a kubeconfig names change.
func connect(kubeconfig []byte) (kubernetes.Interface, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.Dial = (&net.Dialer{Timeout: answerWithin}).DialContext
	return kubernetes.NewForConfig(config)
}

// follow sends the nodes, sorted by name, whenever a node may have changed, until ctx ends. It retries while the API server
// is unavailable.
func (f follower) follow(ctx context.Context, heard chan<- []node) {
	last := ""
	for {
		if err := f.once(ctx, heard); err != nil && err.Error() != last { // log a repeated error once, not twice a second
			last = err.Error()
			slog.Warn("not following the nodes", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryIn):
		}
	}
}

func (f *follower) once(ctx context.Context, heard chan<- []node) error {
	if admin, err := os.ReadFile(f.paths.admin); err == nil && !f.granted { // only a control plane has this file
		client, err := f.connect(admin)
		if err != nil {
			return fmt.Errorf("read %s: %w", f.paths.admin, err)
		}
		if err := grant(ctx, client); err != nil {
			return err
		}
		f.granted = true
	}
	kubeconfig, err := os.ReadFile(f.paths.kubelet)
	if err != nil {
		return err
	}
	if f.client == nil || !bytes.Equal(kubeconfig, f.with) {
		if f.client, err = f.connect(kubeconfig); err != nil {
			f.client = nil
			return fmt.Errorf("read %s: %w", f.paths.kubelet, err)
		}
		f.with = kubeconfig
	}
	return follow(ctx, f.client, heard)
}

// follow lists the nodes and follows their changes until the server ends the watch.
func follow(ctx context.Context, client kubernetes.Interface, heard chan<- []node) error {
	bounded, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	list, err := client.CoreV1().Nodes().List(bounded, metav1.ListOptions{LabelSelector: machines})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	known := map[string]node{}
	for i := range list.Items {
		known[list.Items[i].Name] = summary(&list.Items[i])
	}
	if err := tell(ctx, heard, known); err != nil {
		return err
	}
	seconds := int64(watchFor / time.Second)
	changes, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{LabelSelector: machines, ResourceVersion: list.ResourceVersion, TimeoutSeconds: &seconds})
	if err != nil {
		return fmt.Errorf("watch the nodes: %w", err)
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		changed, ok := change.Object.(*corev1.Node)
		if !ok {
			return fmt.Errorf("watch the nodes: %w", apierrors.FromObject(change.Object))
		}
		known[changed.Name] = summary(changed)
		if change.Type == watch.Deleted {
			delete(known, changed.Name)
		}
		if err := tell(ctx, heard, known); err != nil {
			return err
		}
	}
	return nil
}

func summary(of *corev1.Node) node {
	var ips []string
	for _, address := range of.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			ips = append(ips, address.Address)
		}
	}
	return node{Name: of.Name, IP: firstIPv4(ips), PodCIDR: firstIPv4(of.Spec.PodCIDRs)}
}

func tell(ctx context.Context, heard chan<- []node, known map[string]node) error {
	nodes := make([]node, 0, len(known))
	for _, n := range known {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.Name, b.Name) })
	select {
	case heard <- nodes:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// grant lets every node list all nodes. Since Kubernetes 1.32 the node authorizer lets a kubelet read no Node but its own;
// RBAC rules grant permissions in addition.
func grant(ctx context.Context, client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	meta := metav1.ObjectMeta{Name: "holdfast:nodes"}
	_, err := client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
	}}, metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:nodes"}},
		}, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("let nodes list nodes: %w", err)
	}
	return nil
}
