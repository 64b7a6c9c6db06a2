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

const providerFlag = "provider"

// newProvider makes the provider of --provider, see provider.Maker.
func newProvider(ctx context.Context, name string, out io.Writer, say func(string)) (provider.Provider, error) {
	make, known := provider.Makers[name]
	if !known {
		return provider.Provider{}, usage(fmt.Errorf("provider %q: want one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(provider.Makers)), ", ")))
	}
	return make(ctx, out, say)
}
