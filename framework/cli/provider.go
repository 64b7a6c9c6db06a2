package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/provider"
)

// providers by the names that --provider accepts.
var providers = map[string]provider.Maker{"kind": provider.Kind}

const providerFlag = "provider"

// newProvider makes the provider of --provider, see provider.Maker.
func newProvider(ctx context.Context, name string, out io.Writer, say func(string)) (provider.Provider, error) {
	make, known := providers[name]
	if !known {
		return provider.Provider{}, usage(fmt.Errorf("provider %q: want one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(providers)), ", ")))
	}
	return make(ctx, out, say)
}
