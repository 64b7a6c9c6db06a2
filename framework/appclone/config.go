package appclone

import (
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config is the read-only configuration of a context of the user's kubeconfig, which is found as kubectl finds it unless a file is named.
// The context must be named: the current one may be any cluster.
func Config(kubeconfig, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("context %s: %w", context, err)
	}
	config.Timeout = limit
	return ReadOnly(config), nil
}

// limit is how long the API server may take for one answer.
const limit = 30 * time.Second
