package terminal

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
)

// ProviderFlag is the flag that says what creates the clusters.
const ProviderFlag = "provider"

// ProxyModeHelp is the help of --proxy-mode.
const ProxyModeHelp = "kube-proxy's mode on every cluster: nftables, iptables, or ipvs where the kernel has it; default: nftables"

// Provider makes the provider of --provider, see provider.Maker.
func Provider(ctx context.Context, name string, out io.Writer, say func(string)) (provider.Provider, error) {
	make, known := provider.Makers[name]
	if !known {
		return provider.Provider{}, exit.Usage(fmt.Errorf("provider %q: want one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(provider.Makers)), ", ")))
	}
	return make(ctx, out, say)
}
