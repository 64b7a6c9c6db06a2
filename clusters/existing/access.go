package existing

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Access is a way to a cluster: the server, and credentials for it. The kubeconfig is read again when the API server no longer accepts them.
type Access struct {
	// Context is the context of the kubeconfig; empty in a pod of the cluster.
	Context string
	// Namespace is that of the context, or default.
	Namespace string
	// Server is the URL of the API server.
	Server string

	flags  *Flags
	config *rest.Config  // without credentials: its transport has them
	read   *rest.Config  // as the kubeconfig had it when it was last read
	pause  time.Duration // rereadEvery
}

// Config connects to the cluster with all that the user may do there. The caller may change it.
func (a *Access) Config() *rest.Config { return rest.CopyConfig(a.config) }

// ReadOnly connects to the cluster for reading: see ReadOnly.
func (a *Access) ReadOnly() *rest.Config { return ReadOnly(a.config) }

// Of is the way to a cluster whose configuration is known, such as that of a pod of the cluster. It is not read again.
func Of(name, namespace string, config *rest.Config) *Access {
	return &Access{Context: name, Namespace: namespace, Server: config.Host, config: rest.CopyConfig(config)}
}

// use makes the configuration of a kubeconfig's.
func (a *Access) use(config *rest.Config) error {
	if u, err := url.Parse(config.Host); err == nil && u.User != nil { // it is in records, reports and messages
		return errors.New("the kubeconfig's server has a user or a password in its URL: put them into a user of the kubeconfig")
	}
	a.Server = config.Host
	transport, err := a.transport(config)
	if err != nil {
		return err
	}
	a.config = &rest.Config{
		Host: config.Host, APIPath: config.APIPath, ContentConfig: config.ContentConfig, UserAgent: config.UserAgent,
		Transport: &renewed{access: a, current: transport},
		QPS:       -1, // what is recorded must not be late, and the API server protects itself
	}
	return nil
}

// contextsOf lists the contexts of a kubeconfig, for an error.
func contextsOf(c clientcmdapi.Config) string {
	if len(c.Contexts) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(c.Contexts)), ", ")
}

// Name is a short name of the cluster: that of the context, or the server.
func (a *Access) Name() string { return cmp.Or(a.Context, a.Server) }

// String names the cluster for messages: "context staging (https://10.0.0.1:6443)".
func (a *Access) String() string {
	if a.Context == "" {
		return a.Server
	}
	return fmt.Sprintf("context %s (%s)", a.Context, a.Server)
}
