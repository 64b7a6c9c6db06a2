package kind

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

const (
	kubeadmConfig = "--config=/kind/kubeadm.conf" // which kind writes to every node
	adminConfig   = "/etc/kubernetes/admin.conf"
	apiServerPort = "6443/tcp"

	// signedWithin is how long the controller manager may take to sign the cluster-info ConfigMap. Measured: about a second after kubeadm init.
	signedWithin = 2 * time.Minute
	// signaturePrefix begins the keys of cluster-info that hold signatures.
	signaturePrefix = "jws-kubeconfig-"
)

// bootstrap starts Kubernetes on the nodes of a cluster that kind has made and configured, as kind does. But kind asks the engine for the role of each node
// again and again, one after the other, which took a good part of the time until a cluster stood. Here all that does not depend on each other happens at
// once. It is for one control plane, and for node images that have their own pod network: it installs none, and copies no certificates.
type bootstrap struct {
	Engine Engine
	Log    *slog.Logger
	Name   string   // that kind knows it by
	First  string   // the container of the control plane
	Others []string // the containers of the nodes that join
	// Beside runs while the nodes join.
	Beside func(ctx context.Context, client kubernetes.Interface) error
}

// Start returns when kubeadm has started every node, and has written the kubeconfig for this machine. It does not wait for nodes to be Ready.
func (c bootstrap) Start(ctx context.Context, kubeconfig string) error {
	c.Log.Info("Starting control-plane")
	client, err := c.init(ctx, kubeconfig)
	if err != nil {
		return fmt.Errorf("start the control plane on %s: %w", c.First, err)
	}
	return c.join(ctx, client)
}

// init makes the first node a control plane.
func (c bootstrap) init(ctx context.Context, kubeconfig string) (kubernetes.Interface, error) {
	if err := c.quietly(ctx, c.First, "kubeadm", "init", kubeadmConfig, "--skip-token-print"); err != nil {
		return nil, err
	}
	admin, err := c.execute(ctx, c.First, "cat", adminConfig)
	if err != nil {
		return nil, err
	}
	ports, err := c.Engine.Output(ctx, "port", c.First, apiServerPort)
	if err != nil {
		return nil, err
	}
	named, err := fromOutside(string(admin), string(ports), "kind-"+c.Name)
	if err != nil {
		return nil, err
	}
	if err := clientcmd.WriteToFile(*named, kubeconfig); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*named, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// join brings the other nodes into the cluster that the first has begun.
func (c bootstrap) join(ctx context.Context, client kubernetes.Interface) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return c.quietly(ctx, c.First, "kubectl", "--kubeconfig="+adminConfig, "apply", "--filename=/kind/manifests/default-storage.yaml")
	})
	group.Go(func() error { return c.Beside(ctx, client) })
	group.Go(func() error {
		if err := poll.Until(ctx, "the signature of cluster-info", signedWithin, func(ctx context.Context) (bool, string, error) {
			return signed(ctx, client)
		}); err != nil {
			return err
		}
		c.Log.Info("Joining worker nodes")
		for _, node := range c.Others {
			group.Go(func() error {
				if err := c.quietly(ctx, node, "kubeadm", "join", kubeadmConfig); err != nil {
					return fmt.Errorf("join %s: %w", node, err)
				}
				return nil
			})
		}
		return nil
	})
	return group.Wait()
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

// quietScript runs a command and prints nothing, or the end of what the command has said as one line.
const quietScript = `said=$("$@" 2>&1) || { code=$?; echo "$said" | grep -v 'To see the stack trace' | tail -n 4 | paste -s -d '|' >&2; exit $code; }`

func (c bootstrap) quietly(ctx context.Context, node string, command ...string) error {
	_, err := c.execute(ctx, node, append([]string{"sh", "-c", quietScript, "quietly"}, command...)...)
	return err
}

func (c bootstrap) execute(ctx context.Context, node string, command ...string) ([]byte, error) {
	return c.Engine.Output(ctx, append([]string{"exec", "--privileged", node}, command...)...)
}
