package kind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
	"github.com/holdfast-ha/holdfast/clusters/output"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

const (
	kubeadmConfig = "--config=/kind/kubeadm.conf" // which kind writes to every node
	apiServerPort = "6443/tcp"

	// startedWithin is how long the controller manager may take to sign the cluster-info ConfigMap, and the kubelet to report its images. Measured:
	// both are there a second after kubeadm init.
	startedWithin = 2 * time.Minute
	// signaturePrefix begins the keys of cluster-info that hold signatures.
	signaturePrefix = "jws-kubeconfig-"
)

// startsItself reports whether Kubernetes is started by bootstrap: on one control plane, with an image that has its own pod network. What
// kind does for the others is more than starting it: it installs kindnet, and brings certificates to further control planes.
func (b builder) startsItself() bool {
	return b.config.Networking.DisableDefaultCNI && b.record.Spec.ControlPlanes == 1
}

// bootstrap starts Kubernetes in the containers that kind has made and configured, as kind does. But kind asks the engine for the role of
// each node again and again, one after the other, which took a quarter of the time until a cluster stood. Besides, here all that does not
// depend on each other happens at once: the kubelets find the witness pods when they start.
func (b builder) bootstrap(ctx context.Context, kubeconfig string) error {
	planned := members(b.name, b.record.Spec)
	first := planned[0].name
	b.log.Info("Starting control-plane")
	client, err := b.init(ctx, first, kubeconfig)
	if err != nil {
		return fmt.Errorf("start the control plane on %s: %w", first, err)
	}
	return b.join(ctx, client, first, planned[1:])
}

// join brings the other nodes into the cluster that first has begun.
func (b builder) join(ctx context.Context, client kubernetes.Interface, first string, others []member) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return quietly(ctx, b.e, first, "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "apply", "--filename=/kind/manifests/default-storage.yaml")
	})
	group.Go(func() error {
		return poll.Until(ctx, "the first witness pod", startedWithin, func(ctx context.Context) (bool, string, error) {
			p := proof{client: client}
			nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			if err == nil {
				err = p.ensureWitness(ctx, nodes.Items)
			}
			return p.witnessed, "no node that reports its images", err
		})
	})
	group.Go(func() error {
		if err := poll.Until(ctx, "the signature of cluster-info", startedWithin, func(ctx context.Context) (bool, string, error) {
			return signed(ctx, client)
		}); err != nil {
			return err
		}
		b.log.Info("Joining worker nodes")
		for _, m := range others {
			group.Go(func() error {
				if err := quietly(ctx, b.e, m.name, "kubeadm", "join", kubeadmConfig); err != nil {
					return fmt.Errorf("join %s: %w", m.name, err)
				}
				return nil
			})
		}
		return nil
	})
	return group.Wait()
}

// quietScript runs a command and prints nothing, or the end of what the command has said as one line.
const quietScript = `said=$("$@" 2>&1) || { code=$?; echo "$said" | grep -v 'To see the stack trace' | tail -n 4 | paste -s -d '|' >&2; exit $code; }`

func quietly(ctx context.Context, e runner, node string, command ...string) error {
	_, err := execute(ctx, e, node, append([]string{"sh", "-c", quietScript, "quietly"}, command...)...)
	return err
}

// init makes a node a control plane, and writes the kubeconfig for this machine.
func (b builder) init(ctx context.Context, node, kubeconfig string) (kubernetes.Interface, error) {
	if err := quietly(ctx, b.e, node, "kubeadm", "init", kubeadmConfig, "--skip-token-print"); err != nil {
		return nil, err
	}
	admin, err := execute(ctx, b.e, node, "cat", "/etc/kubernetes/admin.conf")
	if err != nil {
		return nil, err
	}
	ports, err := b.e.Output(ctx, "port", node, apiServerPort)
	if err != nil {
		return nil, err
	}
	named, err := fromOutside(string(admin), string(ports), "kind-"+inventory.Prefix+b.name)
	if err != nil {
		return nil, err
	}
	if err := clientcmd.WriteToFile(*named, kubeconfig); err != nil {
		return nil, err
	}
	config, err := restConfig(b.e, b.name)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// fromOutside is the kubeconfig of a node for this machine, where the engine has published the API server's port. key names its cluster,
// user and context: it is kind's.
func fromOutside(admin, ports, key string) (*clientcmdapi.Config, error) {
	published := output.Lines(ports)
	config, err := clientcmd.Load([]byte(admin))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the control plane: %w", err)
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil || config.AuthInfos[current.AuthInfo] == nil {
		return nil, errors.New("read the kubeconfig of the control plane: it names no cluster or no user")
	}
	if len(published) == 0 {
		return nil, errors.New("the engine has not published the port of the API server")
	}
	named := clientcmdapi.NewConfig()
	named.Clusters[key], named.AuthInfos[key] = config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	named.Clusters[key].Server = "https://" + published[0]
	named.Contexts[key] = &clientcmdapi.Context{Cluster: key, AuthInfo: key}
	named.CurrentContext = key
	return named, nil
}

// signed reports whether nodes can join. A kubeadm that looks for the signature too early looks again only after five seconds.
func signed(ctx context.Context, client kubernetes.Interface) (done bool, saw string, err error) {
	info, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, "cluster-info", metav1.GetOptions{})
	if err != nil {
		return false, "", err
	}
	for key := range info.Data {
		if strings.HasPrefix(key, signaturePrefix) {
			return true, "", nil
		}
	}
	return false, "no signature", nil
}
